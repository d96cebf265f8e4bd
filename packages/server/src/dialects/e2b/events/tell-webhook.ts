import { randomUUID } from 'node:crypto'
import { HearthError } from '@hearth/contract'
import type { Dialer } from '@hearth/engine/dial'
import type { ClaimedWebhook, Webhook, WebhookProgress, WebhookRepository } from '../../../state/index.ts'
import type { Numbered } from './find-events.ts'
import type { LifecycleEvent } from './lifecycle-event.ts'
import { postWebhook } from './post-webhook.ts'
import { webhookMessage } from './webhook-message.ts'

export interface TellOptions {
  readonly owner: string
  readonly networks: readonly string[]
  readonly retryMs: number
  readonly timeoutMs: number
  readonly oldestMs: number
  readonly dialer: Dialer
}

export interface TellParts {
  readonly webhooks: Pick<WebhookRepository, 'claim' | 'proceed' | 'release'>
  readonly pages: (webhook: Webhook, after: number) => Promise<readonly Numbered[]>
  readonly signal: AbortSignal
}

const LONGEST_RETRY_MS = 300_000
/** An event that a receiver answers with a refusal so often is left out: it may be the event. */
const MOST_REFUSALS = 8

/** Tells one webhook all that it is to be told. Gives the time at which to try again; null when there is nothing left. */
export async function tellWebhook(id: string, options: TellOptions, parts: TellParts): Promise<number | null> {
  const leaseMs = options.timeoutMs * 2
  const claimed = await parts.webhooks.claim(id, options.owner, leaseMs)
  if (claimed === null) return null
  const telling = new Telling(claimed, parts.webhooks, leaseMs)
  try {
    for (;;) {
      const found = await parts.pages(claimed, telling.progress.told)
      for (const numbered of found) {
        if (!(await telling.settle(numbered, options, parts.signal))) return await telling.leave()
      }
      if (!found.some(({ event }) => event !== null)) return await telling.leave()
    }
  } catch (error) {
    await parts.webhooks.release(claimed)
    throw error
  }
}

class Telling {
  readonly #claimed: ClaimedWebhook
  readonly #webhooks: TellParts['webhooks']
  readonly #leaseMs: number
  /** Changed, or another's by now: nothing more is written down. */
  #lost = false
  progress: WebhookProgress

  constructor(claimed: ClaimedWebhook, webhooks: TellParts['webhooks'], leaseMs: number) {
    this.#claimed = claimed
    this.#webhooks = webhooks
    this.#leaseMs = leaseMs
    this.progress = claimed.progress
  }

  /** False when it has to wait. */
  async settle({ event, seq, at }: Numbered, options: TellOptions, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    if (event === null) {
      this.progress = { ...this.progress, told: seq }
      return true
    }
    const failure = await deliver(this.#claimed, event, { ...options, signal })
    // The server ends: that is no fault of the receiver's.
    if (failure !== null && signal.aborted) return false
    const past = { told: seq, refusals: 0, nextAt: 0 }
    if (failure === null) {
      await this.#write({ ...past, failures: 0, failure: null, deliveredAt: Date.now() })
      return !this.#lost
    }
    const refusals = this.progress.refusals + (failure.answered ? 1 : 0)
    const leftOut = refusals >= MOST_REFUSALS || Date.now() - at > options.oldestMs
    const failures = this.progress.failures + 1
    const nextAt = Date.now() + Math.min(options.retryMs * 2 ** Math.min(failures - 1, 20), LONGEST_RETRY_MS)
    const waiting = { ...this.progress, refusals, failures, failure: failure.message, nextAt }
    await this.#write(leftOut ? { ...waiting, ...past, nextAt } : waiting)
    return false
  }

  /** Gives it back, and says when to come again. */
  async leave(): Promise<number | null> {
    if (this.#lost) await this.#webhooks.release(this.#claimed)
    else await this.#webhooks.proceed(this.#claimed, this.progress, 0)
    // One that was changed meanwhile is looked at anew, by what it is now.
    if (this.#lost) return Date.now()
    return this.progress.nextAt > Date.now() ? this.progress.nextAt : null
  }

  async #write(progress: WebhookProgress): Promise<void> {
    this.progress = progress
    this.#lost = !(await this.#webhooks.proceed(this.#claimed, progress, this.#leaseMs))
  }
}

interface Failure {
  readonly message: string
  /** Somebody was there, and did not want it. */
  readonly answered: boolean
}

async function deliver(
  webhook: ClaimedWebhook,
  event: LifecycleEvent,
  options: TellOptions & { readonly signal: AbortSignal },
): Promise<Failure | null> {
  const { body, signature } = webhookMessage(event, webhook.secret)
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'hearth-webhooks',
    'e2b-webhook-id': webhook.id,
    'e2b-delivery-id': randomUUID(),
    'e2b-signature-version': 'v1',
    'e2b-signature': signature,
  }
  try {
    const status = await postWebhook({ url: new URL(webhook.url), body, headers }, options)
    return status >= 200 && status < 300 ? null : { message: `it answered with status ${status}`, answered: true }
  } catch (error) {
    const late = error instanceof Error && ['AbortError', 'TimeoutError'].includes(error.name)
    const known = HearthError.isInstance(error) ? error.message : `the connection failed: ${(error as Error).message}`
    return { message: late ? `no answer within ${options.timeoutMs} ms` : known, answered: false }
  }
}
