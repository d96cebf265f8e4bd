import type { RecordEntry, Sandbox, SandboxId } from '@hearth/contract'
import type { NewEvent, NewSandbox, Store } from '../state/index.ts'
import { EntryRates } from './entry-rates.ts'
import { Losses, type LossReason } from './losses.ts'
import { recordedSandbox } from './recorded-sandbox.ts'
import { recordEvent } from './record-event.ts'
import { RefusalCounts } from './refusal-counts.ts'
import { SandboxRecorder, type RecordSink } from './sandbox-recorder.ts'

export interface RecordsOptions {
  /** How long an entry may wait before it is written. Default 50 ms: so much of the record may be missing after a kill of the server. */
  readonly delayMs?: number
  /** What may wait in memory, in all. Default 16 MiB. */
  readonly memoryBytes?: number
  /** What the guest of one sandbox may cause of each kind: entries per second, and how many at once. Default 200 and 2000. */
  readonly perSecond?: number
  readonly burst?: number
  /** Entries of a sandbox that are kept; the oldest go first. Each kind that a guest causes may fill only a part of it in an hour. Default 10,000. */
  readonly keep?: number
  /** For how long equal refusals are counted and not written one by one. Default 10 s. */
  readonly countMs?: number
  /** Told of what fails while nobody waits for it. */
  readonly onProblem?: (what: string, error: unknown) => void
}

interface Waiting {
  readonly sandbox: SandboxId
  readonly event: Omit<NewEvent, 'tenantId'>
  readonly bytes: number
}

/** Entries in one transaction: all other writers wait meanwhile. */
const BATCH = 250
const RETRY_MS = 1000
/** Sandboxes of which it is remembered whose they are. */
const MOST_TENANTS = 10_000

/**
 * The record of all sandboxes of a server. Entries are taken at once and written together a moment later, behind whatever caused them;
 * what cannot be kept is counted, and the record says so.
 */
export class Records implements RecordSink {
  readonly #store: Store
  readonly #options: Required<RecordsOptions>
  readonly #recorders = new Map<SandboxId, SandboxRecorder>()
  readonly #recorded = new WeakMap<Sandbox, Sandbox>()
  readonly #tenants = new Map<SandboxId, string>()
  readonly #rates: EntryRates
  readonly #refusals = new RefusalCounts()
  readonly #losses = new Losses()
  readonly #written = new Map<SandboxId, number>()
  #waiting: Waiting[] = []
  #bytes = 0
  #timer: NodeJS.Timeout | null = null
  #countTimer: NodeJS.Timeout | null = null
  #writing: Promise<void> = Promise.resolve()
  #closed = false

  constructor(store: Store, options: RecordsOptions = {}) {
    this.#store = store
    const { delayMs = 50, memoryBytes = 16 * 1024 ** 2, perSecond = 200, burst = 2000, keep = 10_000 } = options
    const { countMs = 10_000, onProblem = () => undefined } = options
    this.#options = { delayMs, memoryBytes, perSecond, burst, keep, countMs, onProblem }
    this.#rates = new EntryRates({ perSecond, burst, keep })
  }

  /** A sandbox is about to be made, perhaps before its row is written. Of one that begins as a copy it is found out later what runs in it. */
  begin({ id, tenantId, originId }: Pick<NewSandbox, 'tenantId' | 'originId'> & { readonly id: SandboxId }): void {
    this.#remember(id, tenantId)
    this.#recorders.set(id, new SandboxRecorder(id, this, (originId ?? null) === null))
  }

  of(sandbox: SandboxId): SandboxRecorder {
    let recorder = this.#recorders.get(sandbox)
    if (recorder === undefined) {
      recorder = new SandboxRecorder(sandbox, this, false)
      this.#recorders.set(sandbox, recorder)
    }
    return recorder
  }

  /** The sandbox with its commands recorded. */
  recorded(sandbox: Sandbox): Sandbox {
    let recorded = this.#recorded.get(sandbox)
    if (recorded === undefined) {
      recorded = recordedSandbox(sandbox, this.of(sandbox.id))
      this.#recorded.set(sandbox, recorded)
    }
    return recorded
  }

  /** It has ended. What comes of it nevertheless is still taken. */
  forget(sandbox: SandboxId): void {
    this.#recorders.delete(sandbox)
  }

  take(sandbox: SandboxId, entry: RecordEntry, step: string | null): void {
    if (entry.kind === 'refusal' && this.#refusals.counts(sandbox, entry, step)) return
    if (!this.#rates.admits(sandbox, entry.kind)) return this.#drop(sandbox, 'rate', entry)
    this.#keep(sandbox, entry, step)
    if (entry.kind !== 'refusal' || this.#closed) return
    this.#refusals.remember(sandbox, entry, step)
    this.#countTimer ??= setTimeout(() => this.#writeCounts(), this.#options.countMs).unref()
  }

  #keep(sandbox: SandboxId, entry: RecordEntry, step: string | null): void {
    const { type, data, bytes } = recordEvent(entry, step)
    if (this.#closed || this.#bytes + bytes > this.#options.memoryBytes) return this.#drop(sandbox, 'memory', entry)
    this.#bytes += bytes
    this.#waiting.push({ sandbox, bytes, event: { sandboxId: sandbox, at: Date.now(), type, data } })
    this.#wake(this.#options.delayMs)
  }

  /** How often what was refused was tried again. */
  #writeCounts(): void {
    if (this.#countTimer !== null) clearTimeout(this.#countTimer)
    this.#countTimer = null
    for (const { sandbox, entry, step } of this.#refusals.take()) this.#keep(sandbox, entry, step)
  }

  #drop(sandbox: SandboxId, reason: LossReason, entry: RecordEntry): void {
    // Where the traffic went is told even when each piece of it cannot be.
    const where = entry.kind === 'request' || entry.kind === 'connection' ? `${entry.name}:${entry.port}` : null
    this.lose(sandbox, reason, entry.kind, 1, where)
  }

  /** Something happened that the record does not have. */
  lose(
    sandbox: SandboxId,
    reason: LossReason,
    kind: RecordEntry['kind'],
    count = 1,
    where: string | null = null,
  ): void {
    this.#losses.add(sandbox, reason, kind, count, where)
    this.#wake(this.#options.delayMs)
  }

  #wake(delayMs: number): void {
    if (this.#closed) return
    this.#timer ??= setTimeout(() => void this.flush(), delayMs).unref()
  }

  /** Writes all that waits. Never rejects: what cannot be written now is tried again. */
  flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  async #write(): Promise<void> {
    try {
      while (this.#waiting.length > 0 || this.#losses.any) {
        const batch = this.#waiting.slice(0, BATCH)
        const lost = this.#losses.take()
        await this.#append(batch, lost).catch((error: unknown) => {
          this.#losses.putBack(lost)
          throw error
        })
        this.#waiting = this.#waiting.slice(batch.length)
        this.#bytes -= batch.reduce((sum, { bytes }) => sum + bytes, 0)
      }
    } catch (error) {
      this.#options.onProblem('writing the record', error)
      this.#wake(RETRY_MS)
    }
  }

  async #append(batch: readonly Waiting[], lost: ReturnType<Losses['take']>): Promise<void> {
    const events: NewEvent[] = []
    for (const { sandbox, event } of [...batch, ...lost.map((loss) => loss.event())]) {
      const tenantId = await this.tenantOf(sandbox)
      // Of a sandbox that no row tells of nobody could see the record.
      if (tenantId !== null) events.push({ ...event, tenantId })
    }
    if (events.length > 0) await this.#store.events.append(...events)
    await this.#trim(events)
  }

  /** Whose a sandbox is; null for one that is nobody's. */
  async tenantOf(sandbox: SandboxId): Promise<string | null> {
    const known = this.#tenants.get(sandbox)
    if (known !== undefined) return known
    const tenantId = (await this.#store.sandboxes.find(sandbox))?.tenantId
    if (tenantId === undefined) return null
    this.#remember(sandbox, tenantId)
    return tenantId
  }

  #remember(sandbox: SandboxId, tenantId: string): void {
    this.#tenants.set(sandbox, tenantId)
    if (this.#tenants.size <= MOST_TENANTS) return
    const [oldest] = this.#tenants.keys()
    if (oldest !== undefined) this.#tenants.delete(oldest)
  }

  /** Between two rounds of retention a sandbox has at most a quarter more than it may. */
  async #trim(events: readonly NewEvent[]): Promise<void> {
    for (const { sandboxId, tenantId } of events) {
      const sandbox = sandboxId as SandboxId
      const written = (this.#written.get(sandbox) ?? 0) + 1
      this.#written.set(sandbox, written)
      if (written <= this.#options.keep / 4) continue
      this.#written.delete(sandbox)
      await this.#store.events.pruneSandbox(tenantId, sandbox, this.#options.keep)
    }
    if (this.#written.size > this.#options.keep) this.#written.clear()
  }

  /** Writes what waits; nothing is taken afterwards. */
  async close(): Promise<void> {
    this.#writeCounts()
    await this.flush()
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }
}
