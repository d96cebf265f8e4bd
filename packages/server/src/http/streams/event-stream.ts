import { HearthError } from '@hearth/contract'
import { alreadySent, type AppContext, type Services } from '../app-env.ts'
import { failureOf } from '../failures.ts'
import { clientGone, type Operation } from '../operation.ts'
import { ResponseWriter } from './response-writer.ts'

/** Server-sent events to one client, at its pace. */
export class EventStream {
  readonly #writer: ResponseWriter
  readonly #pings: NodeJS.Timeout
  #quiet = false

  constructor(context: AppContext, services: Services) {
    const { outgoing } = context.env
    outgoing.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    outgoing.flushHeaders()
    this.#writer = new ResponseWriter(outgoing, services.limits.writeIdleMs)
    this.#pings = setInterval(() => this.#ping(), services.limits.pingMs)
  }

  /** `position` is what a client that comes back gives as `Last-Event-ID`. */
  async send(event: object, position?: number): Promise<void> {
    this.#quiet = false
    const id = position === undefined ? '' : `id: ${position}\n`
    await this.#writer.write(`${id}data: ${JSON.stringify(event)}\n\n`)
  }

  end(): void {
    clearInterval(this.#pings)
    this.#writer.end()
  }

  #ping(): void {
    // A client that has not taken the last event needs no sign of life.
    if (this.#quiet && !this.#writer.congested) void this.#writer.write(': ping\n\n').catch(() => {})
    this.#quiet = true
  }
}

export interface StreamSource {
  /** What ends the source when the client has gone or the server stops, so that `work` comes to its end. */
  readonly stop: (reason: HearthError) => void
  readonly work: (stream: EventStream) => Promise<void>
}

/** Runs a source into a stream of events. Whatever fails after the beginning is told as the last event. */
export async function answerWithEvents(context: AppContext, services: Services, source: StreamSource): Promise<never> {
  const operation = context.get('operation')
  if (context.env.incoming.method === 'HEAD') source.stop(clientGone())
  const stream = new EventStream(context, services)
  services.metrics.streaming(operation.name, 1)
  operation.onEnd(() => services.metrics.streaming(operation.name, -1))
  const stopped: HearthError[] = []
  const stop = (reason: HearthError): void => {
    if (stopped.push(reason) === 1) source.stop(reason)
  }
  onceGone(operation, stop)
  operation.streams(stop)
  try {
    await source.work(stream)
    if (stopped[0] !== undefined) throw stopped[0]
  } catch (error) {
    const failure = operation.failed(stopped[0] ?? error)
    await stream.send({ type: 'error', error: failureOf(failure, operation.requestId) }).catch(() => {
      // The client has gone: there is nobody to tell.
    })
  } finally {
    stream.end()
  }
  return alreadySent()
}

export function onceGone(operation: Operation, callback: (reason: HearthError) => void): void {
  const { signal } = operation
  const tell = (): void => callback(HearthError.isInstance(signal.reason) ? signal.reason : clientGone())
  if (signal.aborted) tell()
  else signal.addEventListener('abort', tell, { once: true })
}

export function wantsEvents(context: AppContext): boolean {
  return /(^|,)\s*text\/event-stream\b/i.test(context.req.header('accept') ?? '')
}

export function lastEventId(context: AppContext): number | null {
  const given = context.req.header('last-event-id')
  return given !== undefined && /^\d{1,15}$/.test(given) ? Number(given) : null
}
