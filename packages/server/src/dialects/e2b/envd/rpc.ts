import { HearthError, type Scope } from '@hearth/contract'
import { asHearthError } from '../../../http/failures.ts'
import { readBody, readWhole } from '../../../http/bodies/read-body.ts'
import { onceGone } from '../../../http/streams/event-stream.ts'
import { codecOf, type Codec } from '../connect/codec.ts'
import { connectError, connectStatus } from '../connect/codes.ts'
import { readFrames } from '../connect/frames.ts'
import type { Draft, Message, MessageName } from '../connect/messages.ts'
import { RpcStream } from '../connect/rpc-stream.ts'
import { sendJson } from '../../answers.ts'
import { begin, withUser, type EnvdCall, type UserlessCall } from './envd-call.ts'

export interface Rpc {
  readonly scope: Scope
  readonly stream: boolean
  readonly handle: (call: EnvdCall) => Promise<void>
}

/** One message in, one out. */
export function unary<Request extends MessageName, Response extends MessageName>(
  scope: Scope,
  [request, response]: readonly [Request, Response],
  work: (call: EnvdCall, message: Message<Request>) => Promise<Draft<Response>>,
): Rpc {
  const handle = async (call: EnvdCall): Promise<void> => {
    const codec = codecOf(call.incoming.headers['content-type'], false)
    requireIdentity(call, 'content-encoding')
    const { commandBytes, jsonBodyMs } = call.e2b.services.limits
    const bounds = { maximumBytes: commandBytes, idleMs: jsonBodyMs, totalMs: jsonBodyMs }
    const message = codec.decode(request, await readWhole(call.incoming, bounds))
    const answer = codec.encode(response, await work(call, message))
    const headers = { 'content-type': `application/${codec.name}`, 'content-length': answer.length }
    call.outgoing.writeHead(200, headers).end(answer)
  }
  return { scope, stream: false, handle }
}

const LONGEST_TIMER_MS = 2 ** 31 - 1

/** What a streaming call does with its stream; `stop` is called when the client has gone or the server ends. */
export interface Streaming<Response extends MessageName> {
  readonly stop: (reason: HearthError) => void
  /** When the client wants it to end; null for never, or where the work itself sees to it. */
  readonly deadlineMs: number | null
  readonly work: (send: (message: Draft<Response>) => Promise<void>) => Promise<void>
}

/** One message in, many out. What fails before `open` resolves, and what fails later, are both told at the end of the stream. */
export function serverStream<Request extends MessageName, Response extends MessageName>(
  scope: Scope,
  [request, response]: readonly [Request, Response],
  keepalive: Draft<Response>,
  open: (call: EnvdCall, message: Message<Request>) => Promise<Streaming<Response> & AsyncDisposable>,
): Rpc {
  const handle = async (call: EnvdCall): Promise<void> => {
    const codec = codecOf(call.incoming.headers['content-type'], true)
    const message = await onlyFrame(call, codec, request)
    await using streaming = await open(call, message)
    const { services } = call.e2b
    const stream = new RpcStream(call.outgoing, codec, {
      name: response,
      keepalive,
      writeIdleMs: services.limits.writeIdleMs,
      pingInterval: String(call.incoming.headers['keepalive-ping-interval'] ?? ''),
    })
    services.metrics.streaming(call.operation.name, 1)
    call.operation.onEnd(() => services.metrics.streaming(call.operation.name, -1))
    await run(call, stream, streaming)
  }
  return { scope, stream: true, handle }
}

async function run<Name extends MessageName>(
  { operation }: EnvdCall,
  stream: RpcStream<Name>,
  { stop, work, deadlineMs }: Streaming<Name>,
): Promise<void> {
  const stopped: HearthError[] = []
  const once = (reason: HearthError): void => {
    if (stopped.push(reason) === 1) stop(reason)
  }
  onceGone(operation, once)
  operation.streams(once)
  const late = (): void => once(new HearthError('timeout', 'the call took longer than its time limit'))
  const timer = deadlineMs === null ? undefined : setTimeout(late, Math.min(deadlineMs, LONGEST_TIMER_MS))
  try {
    await work((message) => stream.send(message))
    const reason = stopped[0] ?? null
    if (reason !== null && reason.code !== 'timeout') operation.failed(reason)
    stream.end(reason)
  } catch (error) {
    const failure = asHearthError(stopped[0] ?? error)
    // A command that ran too long is what its caller asked for, and no failure of the server.
    if (failure.code !== 'timeout') operation.failed(failure)
    if (['sandbox_ended', 'link_lost'].includes(failure.code)) stream.reset()
    else stream.end(failure)
  } finally {
    clearTimeout(timer)
  }
}

/** How long the client gives a call; null for any time. */
export function timeLimit({ incoming }: UserlessCall): number | null {
  const milliseconds = Number(incoming.headers['connect-timeout-ms'] ?? 0)
  return Number.isSafeInteger(milliseconds) && milliseconds > 0 ? milliseconds : null
}

/** Many messages in, one out. */
export function clientStream<Request extends MessageName, Response extends MessageName>(
  scope: Scope,
  [request, response]: readonly [Request, Response],
  work: (call: EnvdCall, messages: AsyncIterable<Message<Request>>) => Promise<Draft<Response>>,
): Rpc {
  const handle = async (call: EnvdCall): Promise<void> => {
    const codec = codecOf(call.incoming.headers['content-type'], true)
    const answer = await work(call, messages(call, codec, request))
    const { writeIdleMs } = call.e2b.services.limits
    const stream = new RpcStream(call.outgoing, codec, {
      name: response,
      keepalive: {},
      writeIdleMs,
      pingInterval: undefined,
    })
    await stream.send(answer)
    stream.end(null)
  }
  return { scope, stream: true, handle }
}

/** Runs a call; whatever fails before its answer has begun is an answer in the form that its kind has. */
export async function runRpc(call: UserlessCall, name: string, rpc: Rpc): Promise<void> {
  try {
    begin(call, name, rpc.scope)
    await rpc.handle(await withUser(call, null))
  } catch (error) {
    refuseRpc(call, rpc, call.operation.failed(error))
  }
}

function refuseRpc({ incoming, outgoing, e2b }: UserlessCall, { stream }: Rpc, failure: HearthError): void {
  if (outgoing.headersSent) return void outgoing.destroy()
  const error = connectError(failure)
  const type = incoming.headers['content-type'] ?? ''
  if (!stream || !type.startsWith('application/connect+')) return sendJson(outgoing, connectStatus(error.code), error)
  const codec = type.startsWith('application/connect+proto') ? 'proto' : 'json'
  new RpcStream(outgoing, codecOf(`application/connect+${codec}`, true), {
    name: 'Empty',
    keepalive: {},
    writeIdleMs: e2b.services.limits.writeIdleMs,
    pingInterval: undefined,
  }).end(failure)
}

async function onlyFrame<Name extends MessageName>(call: EnvdCall, codec: Codec, name: Name): Promise<Message<Name>> {
  for await (const message of messages(call, codec, name)) return message
  throw new HearthError('invalid_request', 'the body has no message')
}

async function* messages<Name extends MessageName>(
  call: EnvdCall,
  codec: Codec,
  name: Name,
): AsyncGenerator<Message<Name>, void> {
  requireIdentity(call, 'connect-content-encoding')
  const { commandBytes, uploadBytes, bodyIdleMs } = call.e2b.services.limits
  const body = readBody(call.incoming, { maximumBytes: uploadBytes, idleMs: bodyIdleMs })
  for await (const payload of readFrames(body, commandBytes)) yield codec.decode(name, payload)
}

function requireIdentity({ incoming }: EnvdCall, header: string): void {
  const encoding = incoming.headers[header]
  if (encoding === undefined || encoding === 'identity') return
  throw new HearthError('capability_unsupported', `${header}: compressed messages are not supported`)
}
