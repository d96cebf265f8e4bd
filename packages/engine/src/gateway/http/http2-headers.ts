import type { Http2Session, Http2Stream, OutgoingHttpHeaders } from 'node:http2'
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

/**
 * Ends a stream with trailers. Node asks for them in an event, where an error has no owner and would end the process: it breaks the stream off.
 */
export function sendTrailers(stream: Http2Stream, trailers: Headers): void {
  try {
    stream.sendTrailers(grouped(trailers))
  } catch (error) {
    stream.destroy(error instanceof Error ? error : new Error(String(error)))
  }
}

/** A session that was just opened may be over before it says that it is connected. */
export function widenWindow(session: Http2Session & { setLocalWindowSize(bytes: number): void }, bytes: number): void {
  session.once('connect', () => {
    if (!session.destroyed) session.setLocalWindowSize(bytes)
  })
}
