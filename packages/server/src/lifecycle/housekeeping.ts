import { setImmediate } from 'node:timers/promises'
import { VolumeReconciliation } from '../volumes/reconciling-volumes.ts'
import { settleVolumes } from '../volumes/removing-volumes.ts'
import { DEFAULT_RETENTION, type Retention } from '../state/index.ts'
import type { Context } from './context.ts'
import { guarded } from './guarded.ts'
import { endOrphans } from './orphans.ts'
import { recordExits } from './recording-exits.ts'
import { rearmPersistent, reconcile, takeUpAll } from './reconciling.ts'
import { beginRecovery } from './recovering.ts'
import { deleteSandbox } from './removing.ts'
import { SecretChanges } from './renew-secret.ts'
import { endOnSilentHosts, endWrittenOff } from './silent-hosts.ts'
import { settleSnapshots } from './removing-snapshots.ts'

const HOUR_MS = 3_600_000

export interface HousekeepingOptions {
  /** How often operations are recovered and rows compared with machines. Default 30 s. */
  readonly roundMs?: number
  /** How often the times of last activity are written. Default 5 s. */
  readonly activityMs?: number
  /** How long a sandbox that ended by itself can still be looked at. Default 10 minutes. */
  readonly endedMs?: number
  /** How long what an operation answered, its idempotency key, and a delegated key that has ended are kept. Default 24 hours. */
  readonly operationMs?: number
  /** How long another key that was revoked or has expired is kept. Default 30 days. */
  readonly keyMs?: number
  /** How many events are kept. Default 10,000 of a sandbox, and a week. */
  readonly events?: Retention
  /** How long a run of an agent that nobody has touched is kept. Default 30 days. */
  readonly runMs?: number
  /** How often what has been kept for long enough is removed. Default an hour. */
  readonly purgeMs?: number
  /** Leftovers younger than this may be something that is just being made. Default a minute. */
  readonly graceMs?: number
  /** How long a volume that no row tells of stays, from when it is first seen. Default a day. */
  readonly orphanVolumeMs?: number
}

export const DEFAULT_HOUSEKEEPING: Required<HousekeepingOptions> = {
  roundMs: 30_000,
  activityMs: 5000,
  endedMs: 600_000,
  operationMs: 24 * HOUR_MS,
  keyMs: 30 * 24 * HOUR_MS,
  events: DEFAULT_RETENTION,
  runMs: 30 * 24 * HOUR_MS,
  purgeMs: HOUR_MS,
  graceMs: 60_000,
  orphanVolumeMs: 24 * HOUR_MS,
}

/** The server's own rounds. One at a time; what fails in one is tried again in the next. */
export class Housekeeping {
  readonly #context: Context
  readonly #options: Required<HousekeepingOptions>
  readonly #timers: NodeJS.Timeout[] = []
  #round: Promise<void> = Promise.resolve()
  readonly #volumes: VolumeReconciliation
  readonly #secrets: SecretChanges
  #busy = false
  /** Parts of rounds that failed since the start, by name. */
  readonly failures: Record<string, number> = {}
  #purgedAt = 0
  /** When others last heard of this host. */
  #heardAt = Date.now()

  constructor(context: Context, options: HousekeepingOptions) {
    this.#context = context
    this.#options = { ...DEFAULT_HOUSEKEEPING, ...options }
    this.#volumes = new VolumeReconciliation(context, this.#options.orphanVolumeMs)
    this.#secrets = new SecretChanges(context)
  }

  start(): void {
    this.#timers.push(setInterval(() => void this.round(), this.#options.roundMs).unref())
    this.#timers.push(
      setInterval(() => void this.#attempt('activity', () => this.writeActivity()), this.#options.activityMs).unref(),
      setInterval(
        () => void this.#attempt('exits', () => recordExits(this.#context)),
        this.#options.activityMs,
      ).unref(),
    )
  }

  /** Resolves when the round that is under way has ended. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#round
  }

  /** One round now, or the one that is under way. */
  round(): Promise<void> {
    if (!this.#busy) {
      this.#busy = true
      this.#round = this.#run().finally(() => {
        this.#busy = false
      })
    }
    return this.#round
  }

  async #run(): Promise<void> {
    const context = this.#context
    await this.#attempt('heartbeat', () => this.#heartbeat())
    await this.#attempt('recovery', async () => (await beginRecovery(context)).finished)
    await this.#attempt('reconciliation', () => reconcile(context))
    await this.#attempt('taking up', () => takeUpAll(context))
    await this.#attempt('secrets', () => this.#secrets.run())
    await this.#attempt('persistent deadlines', () => rearmPersistent(context))
    await this.#attempt('ended keys', () => endOrphans(context))
    await this.#attempt('ended sandboxes', () => this.#removeEnded())
    await this.#attempt('silent hosts', () => endOnSilentHosts(context, this.#options.endedMs))
    await this.#attempt('snapshots', () => settleSnapshots(context))
    await this.#attempt('volumes', () => settleVolumes(context))
    await this.#attempt('volumes without rows', () => this.#volumes.run())
    await this.#attempt('workspaces', () => context.workspaces.tidy())
    await this.#attempt('sweep', () => context.hearth.sweep({ graceMs: this.#options.graceMs }))
    await this.#attempt('retention', () => this.#purge())
  }

  async #heartbeat(): Promise<void> {
    const context = this.#context
    const wasSilent = Date.now() - this.#heardAt >= context.silentMs
    await context.store.hosts.heartbeat(context.hostId)
    if (wasSilent) await endWrittenOff(context)
    this.#heardAt = Date.now()
  }

  #attempt(what: string, work: () => Promise<unknown>): Promise<void> {
    const report = (name: string, error: unknown): void => {
      this.failures[what] = (this.failures[what] ?? 0) + 1
      this.#context.report(name, error)
    }
    return guarded({ report }, what, work)
  }

  async writeActivity(): Promise<void> {
    for (const live of this.#context.live) {
      const at = live.takeActivity()
      if (at === null) continue
      await this.#context.store.sandboxes.touch(live.record.id, at)
      // SQLite is called synchronously: requests get their turn in between.
      await setImmediate()
    }
  }

  /** Those that ended by themselves are shown for a while, so that people see why. */
  async #removeEnded(): Promise<void> {
    const before = Date.now() - this.#options.endedMs
    const { store, hostId, live } = this.#context
    for await (const record of store.sandboxes.scan({ hostId, states: ['stopped', 'failed'] })) {
      if ((record.endedAt ?? record.createdAt) > before) continue
      const ended = live.ensure(record)
      await this.#attempt(`removing ${record.id}`, () =>
        ended.inTurn(() => deleteSandbox(this.#context, ended, 'retention')),
      )
    }
  }

  async #purge(): Promise<void> {
    if (Date.now() - this.#purgedAt < this.#options.purgeMs) return
    this.#purgedAt = Date.now()
    const { store } = this.#context
    const before = Date.now() - this.#options.operationMs
    await store.operations.purge(before)
    await store.sandboxes.purge(before)
    await store.apiKeys.purge({ delegated: before, others: Date.now() - this.#options.keyMs })
    await store.runs.purge(Date.now() - this.#options.runMs)
    await store.events.prune(this.#options.events)
  }
}
