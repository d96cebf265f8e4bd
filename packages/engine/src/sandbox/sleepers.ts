import {
  HearthError,
  memoryOutcome,
  newSnapshotId,
  parseInput,
  sleepOptionsSchema,
  type MemoryMode,
  type MemoryOutcome,
  type SandboxId,
  type SleepOptions,
  type SnapshotId,
} from '@hearth/contract'
import { readResources } from '../drivers/machine-resources.ts'
import type { LinkServices } from '../drivers/link-driver.ts'
import type { HostPaths } from '../host/host.ts'
import { inBackground, type OnProblem } from '../host/in-background.ts'
import { isAlive } from '../host/process-identity.ts'
import { layerSnapshot } from '../store/layers.ts'
import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import { layersBelow } from '../store/snapshot-store.ts'
import { syncSnapshot } from '../store/sync-snapshot.ts'
import type { Capturable } from './captures.ts'
import { withMemory, type Basis } from './create-from.ts'
import type { EmbeddedSandbox } from './embedded-sandbox.ts'
import type { Launcher } from './launcher.ts'
import {
  clearDirectory,
  disownRecord,
  readRecord,
  sandboxDirectory,
  sleeps,
  snapshotsOf,
  writeDurably,
  writeRecord,
  type SleepingRecord,
  type UnownedRecord,
} from './sandbox-record.ts'
import type { Snapshots } from './snapshots.ts'
import { freeMachine, removeSandbox } from './sweep.ts'

/** What a sandbox slept in is removed by another process, which has to be started. */
const REMOVAL_DELAY_MS = 500

export interface SleeperParts {
  readonly paths: HostPaths
  readonly snapshots: Snapshots
  readonly launcher: Launcher
  readonly services: () => Promise<LinkServices>
  /** Told of what fails while nobody waits for it. */
  readonly onProblem: OnProblem
  /** What a sandbox like this one is made of. */
  readonly like: (record: UnownedRecord) => Promise<Basis>
}

export type WakeOptions = SleepOptions & { readonly signal?: AbortSignal }

/**
 * Puts sandboxes to sleep and wakes them. Whoever dies in between, one of both is whole: the snapshot is there before the machine ends, the
 * record says that it sleeps until the new machine has answered, and only then the snapshot goes.
 */
export class Sleepers {
  readonly #parts: SleeperParts
  readonly #removals = new Set<() => Promise<void>>()
  readonly #fallingAsleep = new Set<SandboxId>()
  readonly #waking = new Map<SandboxId, Promise<EmbeddedSandbox>>()

  constructor(parts: SleeperParts) {
    this.#parts = parts
  }

  async hibernate(sandbox: EmbeddedSandbox, asked: SleepOptions): Promise<MemoryOutcome> {
    const { memory = 'auto' } = parseInput(sleepOptionsSchema, asked, 'options')
    const { onProblem } = this.#parts
    const directory = this.#directory(sandbox.id)
    const id = newSnapshotId()
    this.#fallingAsleep.add(sandbox.id)
    let asleep = null as UnownedRecord | null
    const before = sandbox.record.liesOn
    try {
      const { memory: kept, reason } = await sandbox.sleep(async (capture) => {
        try {
          const written = await this.#writeDown(sandbox, capture, id, memory)
          asleep = written
          return written.sleep
        } catch (error) {
          await this.#stayAwake(sandbox, id)
          throw error
        }
      })
      // It sleeps by now: what cannot be removed is removed before it wakes, and is no failure of the hibernation.
      await inBackground(`removing what ${sandbox.id} does not sleep in`, () => clearDirectory(directory), onProblem)
      if (before !== null && asleep?.liesOn === null) await this.#releaseEarlier(before)
      await this.#makeSpare(sandbox, id)
      return memoryOutcome(kept, reason)
    } finally {
      // Only now: whoever woke it sooner would meet its machine.
      if (asleep !== null) await this.#disown(directory, asleep)
      this.#fallingAsleep.delete(sandbox.id)
    }
  }

  /** What it slept in before is a part of what it sleeps in now. */
  async #releaseEarlier(earlier: SnapshotId): Promise<void> {
    const release = (): Promise<void> => this.#parts.snapshots.released(earlier, null)
    await inBackground('removing what a sandbox slept in before', release, this.#parts.onProblem)
  }

  /** Where that cannot be written down it is for this process alone to wake. */
  async #disown(directory: string, asleep: UnownedRecord): Promise<void> {
    const disown = async (): Promise<void> => disownRecord(directory, asleep)
    await inBackground(`giving up ${asleep.info.id}, which sleeps`, disown, this.#parts.onProblem)
  }

  /** By another process, or by a hibernation here that is not over. */
  #isHeld({ owner, info }: SleepingRecord): boolean {
    return isAlive(owner) && (owner.pid !== process.pid || this.#fallingAsleep.has(info.id))
  }

  async #writeDown(
    sandbox: EmbeddedSandbox,
    capture: Capturable['capture'],
    id: SnapshotId,
    memory: MemoryMode,
  ): Promise<Omit<SleepingRecord, 'owner'>> {
    const { snapshots } = this.#parts
    const directory = this.#directory(sandbox.id)
    writeRecord(directory, { ...sandbox.record, sleep: { snapshot: id, memory: false, reason: null } })
    const about = { kind: 'hibernation', name: null, metadata: {} } as const
    const { limits } = sandbox.info
    await (await this.#parts.services()).disks.keepCounting(sandbox.id, limits.diskBytes)
    const draft = await snapshots.draft({ record: sandbox.record, capture }, memory, about, { id })
    const stored = await snapshots.commit(draft)
    await syncSnapshot(stored.directory, stored.manifest)
    const { record } = sandbox
    const info = { ...record.info, state: 'hibernated' } as const
    const liesOn = layersBelow(stored.manifest).find((below) => below === record.liesOn) ?? null
    const asleep = { ...record, info, liesOn, sleep: { snapshot: id, ...draft.captured.outcome } }
    // From here on it sleeps, whatever becomes of its machine.
    writeDurably(directory, asleep)
    return asleep
  }

  async #makeSpare({ info: { limits } }: EmbeddedSandbox, id: SnapshotId): Promise<void> {
    const { snapshots, services, onProblem } = this.#parts
    const make = async (): Promise<void> => {
      const { disks } = await services()
      await disks.spare(await snapshots.stored(id), limits.diskBytes)
    }
    // It wakes without, only later.
    await inBackground(`copying the files of a sandbox that sleeps (${id})`, make, onProblem)
  }

  async #stayAwake({ id: sandbox, record }: EmbeddedSandbox, id: SnapshotId): Promise<void> {
    const directory = this.#directory(sandbox)
    // One that was killed meanwhile has no record any more.
    if ((await readRecord(directory)) !== null) writeRecord(directory, record)
    await this.#parts.snapshots.released(id, null)
  }

  /** However many ask for it in this process, it is woken once. */
  wake(id: SandboxId, options: WakeOptions): Promise<EmbeddedSandbox> {
    const under = this.#waking.get(id)
    if (under !== undefined) return under
    const waking = this.#wake(id, options).finally(() => this.#waking.delete(id))
    this.#waking.set(id, waking)
    return waking
  }

  async #wake(id: SandboxId, { signal, ...asked }: WakeOptions): Promise<EmbeddedSandbox> {
    const { memory = 'auto' } = parseInput(sleepOptionsSchema, asked, 'options')
    const { snapshots, launcher, like, services } = this.#parts
    const directory = this.#directory(id)
    const record = await this.#find(id)
    const [stored, basis] = await Promise.all([snapshots.stored(record.sleep.snapshot), like(record)])
    const from = withMemory(stored, memory)
    writeRecord(directory, record)
    try {
      // What a crash has left of the machine that it had, or of one that was to be its.
      await freeMachine(id, directory, await services())
      signal?.throwIfAborted()
      return await launcher.relaunch(record, basis, from, {
        ...(signal === undefined ? {} : { signal }),
        answered: (awake) => this.#wakened(awake, from),
      })
    } catch (error) {
      disownRecord(directory, record)
      throw error
    }
  }

  /** Its machine answers: what it slept in goes, or its memory where its files lie on the rest. */
  async #wakened(record: UnownedRecord, { id, manifest }: StoredSnapshot): Promise<UnownedRecord> {
    const directory = this.#directory(record.info.id)
    const layers = (await readResources(directory))?.disk.layers.map(layerSnapshot) ?? []
    const lies = layers.includes(id)
    const awake = { ...record, sleep: null, liesOn: lies ? id : null }
    writeRecord(directory, awake)
    const { snapshots } = this.#parts
    if (!lies) this.#later(() => this.#releaseSlept(id))
    else if (manifest.memory !== null) this.#later(() => snapshots.keepFiles(id))
    return awake
  }

  /** What it removes now that it is awake makes room for it only when nothing holds that any more. */
  async #releaseSlept(id: SnapshotId): Promise<void> {
    await this.#parts.snapshots.released(id, null)
    await (await this.#parts.services()).disks.reclaim()
  }

  /** Its first command has the processor before. */
  #later(removal: () => Promise<void>): void {
    const run = async (): Promise<void> => {
      clearTimeout(timer)
      this.#removals.delete(run)
      // It is awake all the same, and the next sweep removes what is left.
      await inBackground('removing what a sandbox slept in', removal, this.#parts.onProblem)
    }
    const timer = setTimeout(() => void run(), REMOVAL_DELAY_MS).unref()
    this.#removals.add(run)
  }

  /** Does at once what was put off. */
  async settled(): Promise<void> {
    await Promise.all([...this.#removals].map((run) => run()))
  }

  /** Moves the deadline of one that sleeps. */
  async expireAt(id: SandboxId, expiresAt: Date): Promise<void> {
    const record = await this.#find(id)
    disownRecord(this.#directory(id), { ...record, info: { ...record.info, expiresAt } })
  }

  /** Removes one that sleeps and what it sleeps in, unless it was woken since. */
  async discard(id: SandboxId): Promise<void> {
    const record = await readRecord(this.#directory(id))
    if (record === null || !sleeps(record) || this.#isHeld(record) || this.#waking.has(id)) return
    await this.#remove(record)
  }

  async #remove(record: SleepingRecord): Promise<void> {
    const { id } = record.info
    await removeSandbox(id, this.#directory(id), await this.#parts.services())
    for (const snapshot of snapshotsOf(record)) await this.#parts.snapshots.released(snapshot, id)
  }

  async #find(id: SandboxId): Promise<SleepingRecord> {
    const record = await readRecord(this.#directory(id))
    if (record === null) throw new HearthError('sandbox_not_found', `there is no sandbox ${id}`)
    if (!sleeps(record)) throw new HearthError('invalid_state', `sandbox ${id} does not sleep: it runs`)
    if (this.#isHeld(record)) {
      throw new HearthError('too_many', `sandbox ${id} is held by process ${record.owner.pid}, which is alive`)
    }
    if (record.info.expiresAt.getTime() > Date.now()) return record
    await this.#remove(record)
    throw new HearthError('sandbox_ended', `sandbox ${id} has ended: its deadline came while it slept`)
  }

  #directory(id: SandboxId): string {
    return sandboxDirectory(this.#parts.paths.sandboxes, id)
  }
}
