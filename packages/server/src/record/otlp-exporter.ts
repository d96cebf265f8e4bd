import { setTimeout as sleep } from 'node:timers/promises'
import { HearthError } from '@hearth/contract'
import { version } from '../http/version.ts'
import type { StoredEvent } from '../state/index.ts'
import { otlpLogs } from './otlp-logs.ts'

export interface OtlpOptions {
  /** Where logs are posted, for example `http://127.0.0.1:4318/v1/logs`. */
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Default `hearth`. */
  readonly service?: string
  /** Events that may wait; what comes beyond is counted, and told to `onProblem` and to the collector. Default 10,000. */
  readonly queue?: number
  /** How long events wait for others. Default 1 s. */
  readonly delayMs?: number
  /** After a failure; doubled with each, up to 30 s. Default 1 s. */
  readonly retryMs?: number
  readonly onProblem?: (what: string, error: unknown) => void
}

export const DEFAULT_OTLP = { service: 'hearth', queue: 10_000, delayMs: 1000, retryMs: 1000 } as const

/** `refused`: it will never be taken. */
type Outcome = 'taken' | 'refused' | 'failed'

const BATCH = 500
const LONGEST_RETRY_MS = 30_000
const ANSWER_MS = 10_000
/** How long the end of a server waits for a collector. */
const CLOSE_MS = 3000

/** What the environment asks for, in the variables that everything with OpenTelemetry has; null for nothing. */
export function otlpFromEnvironment(env: NodeJS.ProcessEnv): OtlpOptions | null {
  const base = env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? ''
  const url = env['OTEL_EXPORTER_OTLP_LOGS_ENDPOINT'] ?? (base === '' ? '' : `${base.replace(/\/+$/, '')}/v1/logs`)
  if (url === '') return null
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
    throw new HearthError('invalid_request', 'OTEL_EXPORTER_OTLP_ENDPOINT must be the address of a collector', {
      suggestion: 'For example `http://127.0.0.1:4318`.',
    })
  }
  const pairs = (env['OTEL_EXPORTER_OTLP_HEADERS'] ?? '').split(',').flatMap((pair) => {
    const [name = '', ...value] = pair.split('=')
    return name.trim() === '' ? [] : [[name.trim(), decodeURIComponent(value.join('=').trim())] as const]
  })
  const service = env['OTEL_SERVICE_NAME'] ?? ''
  return { url, headers: Object.fromEntries(pairs), ...(service === '' ? {} : { service }) }
}

/** Sends events to a collector of OpenTelemetry, behind everything else: nobody ever waits for it. */
export class OtlpExporter {
  readonly #options: OtlpOptions
  readonly #stop = new AbortController()
  #waiting: StoredEvent[] = []
  #lost = 0
  /** Lost too, and the collector does not know of it yet. */
  #untold = 0
  #sending: Promise<void> | null = null
  #closing = false

  constructor(options: OtlpOptions) {
    this.#options = options
  }

  /** Never throws and never waits. */
  take(events: readonly StoredEvent[]): void {
    const room = (this.#options.queue ?? DEFAULT_OTLP.queue) - this.#waiting.length
    if (room > 0) this.#waiting.push(...events.slice(0, room))
    this.#lose(Math.max(0, events.length - Math.max(0, room)))
    this.#sending ??= this.#run().finally(() => {
      this.#sending = null
    })
  }

  async #run(): Promise<void> {
    let retryMs = this.#options.retryMs ?? DEFAULT_OTLP.retryMs
    await this.#rest(this.#options.delayMs ?? DEFAULT_OTLP.delayMs)
    while (this.#waiting.length > 0 && !this.#stop.signal.aborted) {
      const batch = this.#waiting.slice(0, BATCH)
      const outcome = await this.#sendWithLosses(batch)
      if (outcome !== 'failed') {
        this.#waiting = this.#waiting.slice(batch.length)
        retryMs = this.#options.retryMs ?? DEFAULT_OTLP.retryMs
        this.#reportLost()
        continue
      }
      // A server that ends tries once more, and no further.
      if (this.#closing) return
      await this.#rest(retryMs)
      retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS)
    }
  }

  #lose(count: number): void {
    this.#lost += count
    this.#untold += count
  }

  /** With what it takes the collector learns what it will never get. */
  async #sendWithLosses(batch: readonly StoredEvent[]): Promise<Outcome> {
    const told = this.#untold
    const outcome = await this.#send(told === 0 ? batch : [...batch, lossOf(told)])
    if (outcome === 'taken') this.#untold -= told
    if (outcome === 'refused') this.#lose(batch.length)
    // What was lost while the last of them was sent.
    if (outcome === 'taken' && this.#untold > 0 && this.#waiting.length === batch.length) {
      const late = this.#untold
      if ((await this.#send([lossOf(late)])) === 'taken') this.#untold -= late
    }
    return outcome
  }

  async #send(batch: readonly StoredEvent[]): Promise<Outcome> {
    const { url, headers = {}, service = DEFAULT_OTLP.service } = this.#options
    try {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(otlpLogs(batch, service, version())),
        redirect: 'error',
        signal: AbortSignal.any([AbortSignal.timeout(ANSWER_MS), this.#stop.signal]),
      })
      await answer.body?.cancel()
      if (answer.ok) return 'taken'
      this.#report(new Error(`the collector answered ${answer.status}`))
      return answer.status < 500 && answer.status !== 429 && answer.status !== 408 ? 'refused' : 'failed'
    } catch (error) {
      this.#report(error)
      return 'failed'
    }
  }

  #reportLost(): void {
    if (this.#lost === 0) return
    this.#report(new Error(`${this.#lost} events were not exported`))
    this.#lost = 0
  }

  #report(error: unknown): void {
    this.#options.onProblem?.('exporting the record', error)
  }

  /** Ends early when the server does. */
  async #rest(milliseconds: number): Promise<void> {
    if (this.#closing) return
    await sleep(milliseconds, undefined, { ref: false, signal: this.#stop.signal }).catch(() => undefined)
  }

  /** Sends what waits, if the collector takes it within a moment. */
  async close(): Promise<void> {
    this.#closing = true
    const patience = sleep(CLOSE_MS, undefined, { ref: false })
    await Promise.race([this.#sending ?? Promise.resolve(), patience])
    this.#stop.abort()
    await this.#sending
    this.#lost += this.#waiting.length
    this.#reportLost()
  }
}

/** What stands for events that could not be exported. It is in no record: those have them all. */
function lossOf(count: number): StoredEvent {
  return { seq: 0, at: Date.now(), tenantId: '', sandboxId: null, type: 'export.dropped', data: { count }, hash: null }
}
