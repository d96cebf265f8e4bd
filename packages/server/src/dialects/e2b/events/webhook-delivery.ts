import { randomUUID } from 'node:crypto'
import { Dialer, type Resolve } from '@hearth/engine/dial'
import type { Logger } from 'pino'
import type { DueWebhook, StoredEvent, WebhookRepository } from '../../../state/index.ts'
import { lifecycleEvents, type EventSources } from './find-events.ts'
import { storedTypes } from './lifecycle-event.ts'
import { tellWebhook, type TellOptions } from './tell-webhook.ts'

export interface WebhookOptions {
  /** Networks that are not public and may be told events nevertheless, for example `10.0.0.0/8`. Default none. */
  readonly networks?: readonly string[]
  /** After the first failure; doubled with each, up to five minutes. Default 5 s. */
  readonly retryMs?: number
  /** How long a receiver has to answer. Default 10 s. */
  readonly timeoutMs?: number
  /** An event that could not be told for this long is left out. Default a day. */
  readonly oldestMs?: number
  /** How names get their addresses. Default: as the host does it. */
  readonly resolve?: Resolve
}

export const DEFAULT_WEBHOOKS = { networks: [], retryMs: 5000, timeoutMs: 10_000, oldestMs: 24 * 3_600_000 } as const

export interface DeliveryParts extends EventSources {
  readonly webhooks: Pick<WebhookRepository, 'due' | 'claim' | 'proceed' | 'release'>
  readonly logger: Logger
}

/** At one time, of all tenants. */
const CONCURRENT = 16
/** Looks for what nobody was told of here: events of other servers, and leases of those that died. */
const SWEEP_MS = 15_000
/** Progress over nothing but events that nobody asked for is written down when it saves this much reading. */
const WORTH_WRITING = 1000
/** Events that are read at one time. */
const PAGE = 100
const TYPES = new Set(storedTypes())

/**
 * Tells webhooks what happens. How far each is lies in the database: a server that dies loses nothing, and the next one tells at most one event
 * again. One server tells one webhook at a time, in the order of events.
 */
export class WebhookDelivery {
  readonly #parts: DeliveryParts
  readonly #options: TellOptions
  /** Which webhooks to look at, and when. */
  readonly #due = new Map<string, number>()
  readonly #working = new Map<string, Promise<void>>()
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | null = null
  readonly #sweeps: NodeJS.Timeout

  constructor(parts: DeliveryParts, options: WebhookOptions) {
    this.#parts = parts
    this.#options = {
      owner: randomUUID(),
      networks: options.networks ?? DEFAULT_WEBHOOKS.networks,
      retryMs: options.retryMs ?? DEFAULT_WEBHOOKS.retryMs,
      timeoutMs: options.timeoutMs ?? DEFAULT_WEBHOOKS.timeoutMs,
      oldestMs: options.oldestMs ?? DEFAULT_WEBHOOKS.oldestMs,
      dialer: new Dialer(options.resolve),
    }
    this.#sweeps = setInterval(() => void this.#sweep(), SWEEP_MS).unref()
    void this.#sweep()
  }

  /** Events that were just written. */
  take(events: readonly StoredEvent[]): void {
    const told = events.filter(({ type }) => TYPES.has(type))
    for (const tenantId of new Set(told.map((event) => event.tenantId))) void this.#look(tenantId)
  }

  /** After a change of a webhook. */
  changed(tenantId: string): void {
    void this.#look(tenantId)
  }

  /** What is under way is told again by whoever comes next, unless its answer comes at once. */
  async close(): Promise<void> {
    this.#stop.abort()
    clearInterval(this.#sweeps)
    if (this.#timer !== null) clearTimeout(this.#timer)
    await Promise.allSettled(this.#working.values())
  }

  #look(tenantId: string): Promise<void> {
    return this.#find(async () => await this.#parts.webhooks.due(tenantId))
  }

  /** Of all tenants, those that there is something to tell: the others are left as they are. */
  #sweep(): Promise<void> {
    return this.#find(async () => {
      const found: DueWebhook[] = []
      for (const webhook of await this.#parts.webhooks.due()) {
        const news = await lifecycleEvents(this.#parts, webhook, webhook.told, 1)
        if (news.some(({ event, seq }) => event !== null || seq - webhook.told > WORTH_WRITING)) found.push(webhook)
      }
      return found
    })
  }

  async #find(find: () => Promise<readonly DueWebhook[]>): Promise<void> {
    try {
      if (this.#stop.signal.aborted) return
      for (const { id, nextAt } of await find()) this.#due.set(id, nextAt)
      this.#work()
    } catch (error) {
      // The next sweep looks again.
      this.#parts.logger.warn({ event: 'e2b.webhooks', err: error })
    }
  }

  /** Begins with whatever is due now, and comes back for the rest. */
  #work(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#stop.signal.aborted) return
    const now = Date.now()
    let next = Infinity
    for (const [id, at] of this.#due) {
      if (at > now) next = Math.min(next, at)
      // One that is worked on stays on the list: what was told meanwhile may have come too late for it.
      else if (this.#working.size < CONCURRENT && !this.#working.has(id)) this.#begin(id)
    }
    if (next < Infinity) this.#timer = setTimeout(() => this.#work(), Math.min(next - now, SWEEP_MS)).unref()
  }

  #begin(id: string): void {
    this.#due.delete(id)
    const work = this.#tell(id).finally(() => {
      this.#working.delete(id)
      this.#work()
    })
    this.#working.set(id, work)
  }

  async #tell(id: string): Promise<void> {
    try {
      const { webhooks } = this.#parts
      const later = await tellWebhook(id, this.#options, {
        webhooks,
        pages: (webhook, after) => lifecycleEvents(this.#parts, webhook, after, PAGE),
        signal: this.#stop.signal,
      })
      if (later !== null) this.#due.set(id, Math.min(later, this.#due.get(id) ?? Infinity))
    } catch (error) {
      this.#parts.logger.warn({ event: 'e2b.webhook', webhook: id, err: error })
    }
  }
}
