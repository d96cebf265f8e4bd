import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HearthError } from '@hearth/contract'
import type { Logger } from 'pino'
import type { Metrics } from './metrics.ts'
import { clientGone, Operation } from './operation.ts'

/** What was abandoned has this long to tell its client so. */
const LAST_WORDS_MS = 500

/** All calls under way on one server. */
export class Operations {
  readonly #log: { readonly logger: Logger; readonly metrics: Metrics }
  readonly #byRequest = new WeakMap<IncomingMessage, Operation>()
  readonly #active = new Set<Operation>()
  #idle: (() => void) | null = null

  constructor(log: { readonly logger: Logger; readonly metrics: Metrics }) {
    this.#log = log
  }

  get active(): number {
    return this.#active.size
  }

  begin(incoming: IncomingMessage, outgoing: ServerResponse): Operation {
    const operation = this.#register(incoming)
    outgoing.setHeader('x-request-id', operation.requestId)
    outgoing.once('close', () => {
      const complete = outgoing.writableFinished
      if (!complete) operation.abort(clientGone())
      this.#end(operation, outgoing.headersSent ? outgoing.statusCode : 0, complete)
    })
    return operation
  }

  /** For a connection that leaves HTTP. `status` is read when it is over. */
  beginUpgrade(incoming: IncomingMessage, socket: Duplex, status: () => number): Operation {
    const operation = this.#register(incoming)
    socket.once('close', () => {
      operation.abort(clientGone())
      this.#end(operation, status(), true)
    })
    return operation
  }

  of(incoming: IncomingMessage): Operation {
    const operation = this.#byRequest.get(incoming)
    if (operation === undefined) throw new Error('a request that no operation was begun for')
    return operation
  }

  /** Streams end at once; everything else has this long, then it is abandoned. */
  async drain(graceMs: number, reason: () => HearthError): Promise<void> {
    for (const operation of this.#active) operation.stopStreaming(reason())
    await this.#idleWithin(graceMs)
    for (const operation of this.#active) operation.abort(reason())
    await this.#idleWithin(LAST_WORDS_MS)
  }

  async #idleWithin(milliseconds: number): Promise<void> {
    if (this.#active.size === 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      this.#idle = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  #register(incoming: IncomingMessage): Operation {
    const operation = new Operation(incoming)
    this.#byRequest.set(incoming, operation)
    this.#active.add(operation)
    return operation
  }

  #end(operation: Operation, status: number, complete: boolean): void {
    this.#active.delete(operation)
    operation.end(status, complete, this.#log)
    if (this.#active.size === 0) this.#idle?.()
  }
}
