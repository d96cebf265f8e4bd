import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { SnapshotId } from '@hearth/contract'
import type { HostPaths } from '../host/host.ts'
import { inBackground, type OnProblem } from '../host/in-background.ts'
import { passingName, sweepPassing } from './passing-names.ts'
import type { StoredSnapshot } from './snapshot-manifest.ts'
import { runStore } from './store-helper.ts'

const MOST_SNAPSHOTS = 4
/** A create under way shall not wait for the next one's files. */
const REFILL_DELAY_MS = 40
/** When nothing was made of a snapshot for so long, none waits. They hold on to the bytes of one that is removed. */
const IDLE_MS = 10_000

interface Clones {
  readonly source: string
  readonly limitBytes: number
  readonly ready: string[]
}

/**
 * Copies of the files of snapshots that sandboxes were just made of, for the next ones: a snapshot of btrfs waits for all that its file system has to
 * write down, a subvolume that is there already only gets its name. They belong to this process; what it leaves is swept.
 */
export class CloneStock {
  readonly #paths: HostPaths
  readonly #ready: number
  readonly #directory: string
  readonly #onProblem: OnProblem
  readonly #clones = new Map<SnapshotId, Clones>()
  #filling: Promise<void> = Promise.resolve()
  #refill: NodeJS.Timeout | undefined
  #idle: NodeJS.Timeout | undefined
  #disposed = false

  /** `ready`: how many wait of each snapshot that was used lately. */
  constructor(paths: HostPaths, ready: number, onProblem: OnProblem) {
    this.#paths = paths
    this.#ready = ready
    this.#directory = aheadDirectory(paths)
    this.#onProblem = onProblem
  }

  /** Puts one in that place. False when none is ready. */
  take(snapshot: StoredSnapshot, limitBytes: number, target: string): boolean {
    if (this.#ready === 0) return false
    const found = this.#clones.get(snapshot.id)
    const fits = found?.limitBytes === limitBytes
    const clone = fits ? found.ready.shift() : undefined
    const ready = fits ? found.ready : []
    if (!fits) void this.#remove(found?.ready ?? [])
    this.#clones.delete(snapshot.id)
    this.#clones.set(snapshot.id, { source: join(snapshot.directory, 'disk'), limitBytes, ready })
    this.#schedule()
    if (clone === undefined) return false
    renameSync(clone, target)
    return true
  }

  /** Makes those that are missing. What fails is reported: a create that finds none meets the same error. */
  async fill(): Promise<void> {
    clearTimeout(this.#refill)
    this.#filling = this.#filling.then(() =>
      inBackground('copying the files of snapshots ahead of need', () => this.#make(), this.#onProblem),
    )
    await this.#filling
  }

  #schedule(): void {
    clearTimeout(this.#refill)
    clearTimeout(this.#idle)
    if (this.#disposed) return
    this.#refill = setTimeout(() => void this.fill(), REFILL_DELAY_MS).unref()
    this.#idle = setTimeout(() => void this.#empty(0), IDLE_MS).unref()
  }

  async #make(): Promise<void> {
    if (this.#disposed) return
    await this.#empty(MOST_SNAPSHOTS)
    for (const clones of this.#clones.values()) {
      // One snapshot that is gone keeps no other from being copied.
      await inBackground(`copying ${clones.source}`, () => this.#makeOf(clones), this.#onProblem)
    }
  }

  async #makeOf({ source, limitBytes, ready }: Clones): Promise<void> {
    while (ready.length < this.#ready && !this.#disposed) {
      const clone = join(this.#directory, passingName())
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
      await runStore(this.#paths.guest, 'clone', source, clone, String(limitBytes))
      ready.push(clone)
    }
  }

  /** Keeps those of as many snapshots, which were used last. */
  async #empty(kept: number): Promise<void> {
    const gone = [...this.#clones].slice(0, Math.max(0, this.#clones.size - kept))
    for (const [id] of gone) this.#clones.delete(id)
    await this.#remove(gone.flatMap(([, { ready }]) => ready))
  }

  async #remove(clones: readonly string[]): Promise<void> {
    // One that cannot be removed now is swept when this process has ended.
    for (const clone of clones) {
      const remove = (): Promise<string> => runStore(this.#paths.guest, 'subvolume-delete', clone)
      await inBackground(`removing ${clone}`, remove, this.#onProblem)
    }
  }

  async dispose(): Promise<void> {
    this.#disposed = true
    clearTimeout(this.#refill)
    clearTimeout(this.#idle)
    await this.#filling
    await this.#empty(0)
  }
}

/** Removes those of processes that have ended. */
export async function sweepClones(paths: HostPaths): Promise<void> {
  await sweepPassing(paths, aheadDirectory(paths))
}

function aheadDirectory(paths: HostPaths): string {
  return join(paths.store, 'ahead')
}
