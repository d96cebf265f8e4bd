import { HearthError } from '@hearth/contract'
import type { InspectedConnection } from '../connection.ts'
import { PushRefusedError } from '../secrets/git-push.ts'
import { checkRequest, type CheckedRequest } from './check-request.ts'
import { allowedTrailers } from './hop-by-hop.ts'
import type { HttpLimits } from './limits.ts'
import { checkOverrides } from './override-headers.ts'
import type { Inbound, Outgoing, UpstreamRequest, UpstreamResponse } from './message.ts'
import { prepareRequest, type PreparedRequest } from './prepare-request.ts'
import { prepareResponse } from './prepare-response.ts'
import { discard, pump } from './pump.ts'
import { answer, answerPush, refusalOf, refuse, upstreamFailed } from './refusal.ts'
import { recordRefusal, recordRequest } from './request-record.ts'
import type { RunningRequest } from './running-requests.ts'
import type { Upstream } from './upstream.ts'

export interface ExchangeContext {
  readonly connection: InspectedConnection
  readonly upstream: Upstream
  readonly limits: HttpLimits
}

const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS'])

/** One request and its answer. What goes wrong is answered and recorded here, and never thrown. */
export async function exchange(context: ExchangeContext, inbound: Inbound): Promise<void> {
  const { connection, limits } = context
  let running: RunningRequest | null = null
  let prepared: PreparedRequest | null = null
  let request: UpstreamRequest | null = null
  try {
    const allowed = check(context, inbound)
    running = allowed.running
    prepared = await prepareRequest(connection, inbound, allowed.checked, allowed.named, limits)
    running.throwIfRefused()
    const sent = await send(context, inbound, prepared, running)
    request = sent
    running.stopWith(() => {
      // Otherwise the answer is still to come, and will say why.
      if (inbound.reply.begun) inbound.reply.abort()
      sent.abort()
    })
    const response = await sent.response
    running.throwIfRefused()
    recordRequest(connection, inbound, prepared, response.status)
    await relay(context, inbound, sent, response)
    running.throwIfRefused()
  } catch (error) {
    request?.abort()
    fail(context, inbound, prepared, running?.refusal ?? error)
  } finally {
    running?.[Symbol.dispose]()
    if (!inbound.body.readableEnded) discard(inbound.body, limits.discardBytes)
  }
}

/** A request that may pass, and from now on is under way: whoever asked must say when it has ended. */
export interface AllowedRequest {
  readonly checked: CheckedRequest
  readonly named: boolean
  readonly running: RunningRequest
}

export function check({ connection, limits }: ExchangeContext, inbound: Inbound): AllowedRequest {
  const checked = checkRequest(inbound, connection, limits)
  const verdict = connection.policy().request(connection.name, connection.port, checked.method, checked.target)
  if (!verdict.allowed) throw refuse(verdict.refusal, verdict.message)
  checkOverrides(connection, checked.method, checked.target, checked.headers)
  return { checked, named: verdict.named, running: connection.running.begin(checked) }
}

export function outgoingOf({ method, target, host, headers, body }: PreparedRequest): Outgoing {
  return { method, target, host, headers, hasBody: Buffer.isBuffer(body) ? body.length > 0 : body !== null }
}

/** Sends the request; its body follows while the answer is awaited. */
async function send(
  context: ExchangeContext,
  inbound: Inbound,
  prepared: PreparedRequest,
  running: RunningRequest,
): Promise<UpstreamRequest> {
  const outgoing = outgoingOf(prepared)
  const proceed = (): void => inbound.reply.proceed()
  const request = await context.upstream.request(outgoing, proceed)
  // The one that is answered: another when it had to be asked again.
  let asked = request
  const abort = (): void => asked.abort()
  inbound.reply.sink.once('close', () => {
    if (!inbound.reply.sink.writableFinished) abort()
  })
  const again = async (): Promise<UpstreamRequest> => {
    running.throwIfRefused()
    asked = await context.upstream.request(outgoing, () => undefined)
    if (running.refusal !== null) asked.abort()
    return asked
  }
  const response = outgoing.hasBody
    ? bodyThenResponse(context, inbound, prepared, request)
    : retried(inbound, outgoing, request, again)
  // Whoever awaits it hears of the failure; it may come before that.
  response.catch(() => undefined)
  return { ...request, response, abort }
}

/** A server may close a connection at the moment in which it is used again. Asking again is harmless for some methods. */
async function retried(
  inbound: Inbound,
  outgoing: Outgoing,
  request: UpstreamRequest,
  askAgain: () => Promise<UpstreamRequest>,
): Promise<UpstreamResponse> {
  request.end([])
  try {
    return await request.response
  } catch (error) {
    if (!request.reused() || !IDEMPOTENT.has(outgoing.method) || inbound.reply.sink.destroyed) throw error
    const again = await askAgain()
    again.end([])
    return await again.response
  }
}

/** A body that may not pass makes the whole request fail; a server that answers before it has read everything is heard. */
function bodyThenResponse(
  context: ExchangeContext,
  inbound: Inbound,
  prepared: PreparedRequest,
  request: UpstreamRequest,
): Promise<UpstreamResponse> {
  const sent = sendBody(context, inbound, prepared, request)
  sent.catch((error: unknown) => {
    request.abort()
    // The answer had begun already, so that nobody else hears of it.
    if (inbound.reply.begun) fail(context, inbound, prepared, error)
  })
  return Promise.race([request.response, sent.then(() => request.response)])
}

async function sendBody(
  { connection }: ExchangeContext,
  inbound: Inbound,
  { body, filter }: PreparedRequest,
  request: UpstreamRequest,
): Promise<void> {
  if (body === null || Buffer.isBuffer(body)) {
    if (body !== null) request.sink.write(body)
    request.end([])
    return
  }
  if ((await pump(body, request.sink, filter, connection.secrets.time)) === 'closed') return
  const trailers = allowedTrailers(inbound.trailers())
  connection.secrets.watch.check(trailers.flat().join('\n'), 'the trailers')
  request.end(trailers)
}

export async function relay(
  { connection, limits }: ExchangeContext,
  inbound: Inbound,
  request: UpstreamRequest,
  response: UpstreamResponse,
): Promise<void> {
  const { reply } = inbound
  if (response.status < 200) throw upstreamFailed(`the server changed the protocol, which nobody asked for`)
  const prepared = prepareResponse(connection, inbound, response, limits)
  reply.begin(response.status, prepared.reason, prepared.headers, prepared.body === null)
  if (prepared.body === null) {
    response.body.resume()
    reply.end([])
    return
  }
  if ((await pump(prepared.body, reply.sink, prepared.filter, connection.secrets.time)) === 'closed') request.abort()
  else reply.end(prepared.trailers())
  // The server has said all: what the client still sends is for nobody.
  if (!inbound.body.readableEnded) request.abort()
}

export function fail(
  context: ExchangeContext,
  inbound: Inbound,
  prepared: PreparedRequest | null,
  error: unknown,
): void {
  const { connection } = context
  if (error instanceof PushRefusedError && !inbound.reply.begun) {
    recordRefusal(connection, error.refusal, inbound)
    answerPush(inbound, error.report)
    return
  }
  const failure = HearthError.isInstance(error)
    ? error
    : upstreamFailed(error instanceof Error ? error.message : String(error), error)
  if (refusalOf(failure) !== null) recordRefusal(connection, failure, inbound)
  if (inbound.reply.begun || inbound.reply.sink.destroyed) return inbound.reply.abort()
  const status = answer(inbound, failure)
  if (refusalOf(failure) === null && prepared !== null) recordRequest(connection, inbound, prepared, status)
}
