import type { Readable } from 'node:stream'
import type { InspectedConnection } from '../connection.ts'
import { allowedTrailers, withoutHopByHop } from './hop-by-hop.ts'
import type { Headers, Inbound, UpstreamResponse } from './message.ts'
import type { Filter } from './pump.ts'

/** An answer as the sandbox may see it. */
interface PreparedResponse {
  readonly reason: string
  readonly headers: Headers
  /** Null where there can be none. */
  readonly body: Readable | null
  readonly filter: Filter | null
  trailers(): Headers
}

export function prepareResponse(
  _connection: InspectedConnection,
  inbound: Inbound,
  response: UpstreamResponse,
): PreparedResponse {
  const bodiless = inbound.method === 'HEAD' || response.status === 204 || response.status === 304
  return {
    reason: response.reason,
    headers: withoutHopByHop(response.headers),
    body: bodiless ? null : response.body,
    filter: null,
    trailers: () => allowedTrailers(response.trailers()),
  }
}
