import type { OutgoingHttpHeaders } from 'node:http2'
import type { Headers } from './message.ts'

/** As Node's HTTP/2 wants them: names in lower case, one entry a name. */
export function grouped(headers: Headers): OutgoingHttpHeaders {
  const result: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>
  for (const [name, value] of headers) {
    const key = name.toLowerCase()
    const before = result[key]
    result[key] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value]
  }
  return result
}
