import type { IncomingMessage } from 'node:http'
import { HearthError, newId } from '@hearth/contract'
import type { Logger } from 'pino'
import { asHearthError, statusOf } from './failures.ts'
import type { Metrics } from './metrics.ts'

const REQUEST_ID = /^[A-Za-z0-9_.-]{1,64}$/

/** Those that run all the time and say nothing when they go well. */
const QUIET = new Set(['system.health', 'system.ready', 'system.metrics'])

/** One call from its first byte to its last: what it is told to the log by, and what ends it early. */
export class Operation {
  readonly requestId: string
  name = 'unknown'
  tenantId: string | null = null
  keyId: string | null = null
  sandboxId: string | null = null
  readonly #startedAt = performance.now()
  readonly #ending: (() => void)[] = []
  #failure: HearthError | null = null
  #gone: AbortController | null = null
  #goneBecause: HearthError | null = null
  #streaming: ((reason: HearthError) => void) | null = null

  constructor(incoming: IncomingMessage) {
    const given = incoming.headers['x-request-id']
    this.requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : newId('req')
  }

  /** Aborts when the client has gone or the server will not wait any longer; the reason is a `HearthError`. */
  get signal(): AbortSignal {
    if (this.#gone === null) {
      this.#gone = new AbortController()
      if (this.#goneBecause !== null) this.#gone.abort(this.#goneBecause)
    }
    return this.#gone.signal
  }

  get failure(): HearthError | null {
    return this.#failure
  }

  get isStreaming(): boolean {
    return this.#streaming !== null
  }

  failed(error: unknown): HearthError {
    this.#failure = asHearthError(error)
    return this.#failure
  }

  abort(reason: HearthError): void {
    if (this.#goneBecause !== null) return
    this.#goneBecause = reason
    this.#gone?.abort(reason)
  }

  /** From here on it may last for ever: when the server stops it is asked to end at once. */
  streams(end: (reason: HearthError) => void): void {
    this.#streaming = end
    if (this.#goneBecause !== null) end(this.#goneBecause)
  }

  stopStreaming(reason: HearthError): void {
    this.#streaming?.(reason)
  }

  onEnd(callback: () => void): void {
    this.#ending.push(callback)
  }

  /** Once, when the connection is done with it. `status` is what was sent, 0 for nothing. */
  end(status: number, complete: boolean, log: { readonly logger: Logger; readonly metrics: Metrics }): void {
    for (const callback of this.#ending) callback()
    const durationMs = Math.round((performance.now() - this.#startedAt) * 1000) / 1000
    const outcome = this.#outcome(status, complete)
    const code = this.#failure?.code ?? ''
    log.metrics.ended(this.name, outcome, code, durationMs)
    const line = {
      event: 'operation',
      operation: this.name,
      outcome,
      status,
      durationMs,
      requestId: this.requestId,
      tenant: this.tenantId,
      key: this.keyId,
      sandbox: this.sandboxId,
      ...(this.#failure === null ? {} : { code }),
    }
    if (outcome === 'failed') log.logger.error({ ...line, err: this.#failure?.cause ?? this.#failure })
    else if (outcome === 'ok' && QUIET.has(this.name)) log.logger.debug(line)
    else log.logger.info(line)
  }

  #outcome(status: number, complete: boolean): 'ok' | 'refused' | 'failed' | 'abandoned' {
    const told = this.#failure === null ? status : statusOf(this.#failure)
    if (told >= 500) return 'failed'
    if (!complete && this.#failure === null) return 'abandoned'
    if (this.#failure?.code === 'aborted') return 'abandoned'
    return told >= 400 ? 'refused' : 'ok'
  }
}

export function clientGone(): HearthError {
  return new HearthError('aborted', 'the client closed the connection')
}

export function serverStops(): HearthError {
  return new HearthError('shutting_down', 'the server is being stopped')
}
