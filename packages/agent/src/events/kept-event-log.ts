import { setTimeout as sleep } from 'node:timers/promises'
import { HearthError, type AgentEvent, type ErrorCode, type RunKeeper, type RunLease } from '@hearth/contract'
import type { EventLog } from './event-log.ts'

/** How long a keeper that does not answer is waited for, for example while its server is started anew. */
const PATIENCE_MS = 120_000
const DELAY_MS = 250

/** What passes by itself: the call is repeated, which a keeper allows. */
const PASSING: readonly ErrorCode[] = ['link_lost', 'store_unavailable', 'shutting_down', 'too_many', 'rate_limited']

/** A run that a server keeps: its database is the log. Whoever has a later lease makes every append of this one a `conflict`. */
export class KeptEventLog implements EventLog {
  readonly #keeper: RunKeeper
  readonly #lease: RunLease

  constructor(keeper: RunKeeper, lease: RunLease) {
    this.#keeper = keeper
    this.#lease = lease
  }

  async append(event: AgentEvent): Promise<void> {
    await patiently(async () => await this.#keeper.append(this.#lease.run, this.#lease.lease, [event]))
  }

  async read(): Promise<readonly AgentEvent[]> {
    return await patiently(async () => {
      const events: AgentEvent[] = []
      for await (const event of this.#keeper.events(this.#lease.run)) events.push(event)
      return events
    })
  }
}

export function isPassing(error: unknown): boolean {
  return HearthError.isInstance(error) && PASSING.includes(error.code)
}

async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  const until = Date.now() + PATIENCE_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isPassing(error) || Date.now() > until) throw error
      await sleep(DELAY_MS)
    }
  }
}
