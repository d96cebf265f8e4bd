import type { Readable, Transform } from 'node:stream'
import type { InspectedConnection } from '../connection.ts'
import { windowMemory, type Claim } from './body-memory.ts'
import { codingsOf, Decoded } from './content-coding.ts'
import { allowedTrailers, withoutHopByHop } from './hop-by-hop.ts'
import type { HttpLimits } from './limits.ts'
import { valuesOf, without, type Header, type Headers, type Inbound, type UpstreamResponse } from './message.ts'
import { messageCoding, UnpackedMessages } from './packed-messages.ts'
import type { Filter } from './pump.ts'
import { upstreamFailed } from './refusal.ts'

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
  connection: InspectedConnection,
  inbound: Inbound,
  response: UpstreamResponse,
  limits: HttpLimits,
): PreparedResponse {
  checkTransfer(response.headers)
  const bodiless = response.bodiless || inbound.method === 'HEAD' || response.status === 204 || response.status === 304
  const headers = withoutHopByHop(response.headers)
  const body = bodiless ? null : response.body
  const trailers = (): Headers => allowedTrailers(response.trailers())
  const { secrets, name } = connection
  if (secrets.empty) return { reason: response.reason, headers, body, filter: null, trailers }
  // Nobody asked for a part: two of them could hold one half of a secret each.
  if (response.status === 206 && secrets.boundTo(name)) throw upstreamFailed('the server sent a part of an answer')
  const scrubbed = scrubHeaders(headers, connection)
  return {
    reason: secrets.scrubber.text(response.reason),
    ...(body === null ? { headers: scrubbed, body } : decode(scrubbed, body, windowMemory(secrets, inbound, limits))),
    filter: secrets.scrubber.stream(),
    trailers: () => scrubHeaders(trailers(), connection),
  }
}

/** What is packed for the way alone is taken off nowhere, and could hold anything. */
function checkTransfer(headers: Headers): void {
  const codings = valuesOf(headers, 'transfer-encoding')
  if (codings.length > 1 || codings.some((coding) => coding.trim().toLowerCase() !== 'chunked')) {
    throw upstreamFailed('the server encoded its answer for the way, in another way than chunked')
  }
}

/** What cannot be decoded cannot be searched for secrets, and is not passed on. */
function decode(headers: Headers, body: Readable, claim: Claim): { headers: Headers; body: Readable } {
  const codings = codingsOf(headers)
  const messages = messageCoding(headers)
  if (codings === null || messages === 'unknown')
    throw upstreamFailed('the server encoded its answer in a way that cannot be searched for secrets')
  if (codings.length === 0 && messages === null) return { headers, body }
  let decoded = body
  for (const coding of codings) decoded = through(decoded, new Decoded(coding, claim))
  // That messages may be packed stays said: each of them says that it is not.
  if (messages !== null) decoded = through(decoded, new UnpackedMessages(messages, claim))
  return { headers: without(headers, 'content-encoding', 'content-length', 'accept-ranges'), body: decoded }
}

function through(body: Readable, next: Transform): Transform {
  body.on('error', (error) => next.destroy(error))
  body.once('close', () => {
    if (!body.readableEnded) next.destroy(new Error('the body broke off'))
  })
  return body.pipe(next)
}

export function scrubHeaders(headers: Headers, { secrets }: InspectedConnection): Headers {
  return headers
    .filter(([name]) => !secrets.scrubber.isInName(name))
    .map(([name, value]): Header => [name, secrets.scrubber.text(value)])
}
