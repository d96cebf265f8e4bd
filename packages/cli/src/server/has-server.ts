import { recordedUrl } from './server-record.ts'
import type { ServerOptions } from './with-server.ts'

/** One that was named, or the one of this home while it runs. */
export function hasServer({ port }: ServerOptions): boolean {
  return port !== undefined || (process.env['HEARTH_URL'] ?? '') !== '' || recordedUrl() !== null
}
