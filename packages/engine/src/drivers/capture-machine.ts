import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError, isAtLeast, memoryRefused, type MemoryMode } from '@hearth/contract'
import type { Link } from '../link/link.ts'
import type { Captured, WhileStill } from '../machine/machine.ts'
import type { CapturedArea } from '../store/disk-area.ts'
import type { LinkServices } from './link-driver.ts'
import type { CaptureInput, LinkRuntime } from './link-runtime.ts'
import type { MachinePlace } from './machine-place.ts'

/** The machine that is captured. */
export interface CaptureSubject {
  readonly place: MachinePlace
  readonly link: Link
  readonly isPaused: () => boolean
  readonly pause: () => Promise<void>
  /** As `pause`, but calls wait. */
  readonly standStill: () => Promise<void>
  readonly resume: () => Promise<void>
}

interface Taking {
  readonly disk: Once<CapturedArea>
  readonly stop: CaptureInput['stop']
}

/** Captures a machine into the directory of a snapshot. It goes on afterwards as it was, whatever happens, unless it shall stay. */
export class MachineCapture {
  readonly #runtime: LinkRuntime
  readonly #services: LinkServices
  readonly #subject: CaptureSubject

  constructor(runtime: LinkRuntime, services: LinkServices, subject: CaptureSubject) {
    this.#runtime = runtime
    this.#services = services
    this.#subject = subject
  }

  async take(directory: string, mode: MemoryMode, still?: WhileStill): Promise<Captured> {
    const obstacle = await this.#obstacle(mode)
    if (obstacle !== null && mode === 'required') throw memoryRefused(obstacle)
    // What a sandbox with a kernel of its own has written may be in that kernel alone.
    if (obstacle !== null && !isAtLeast(this.#runtime.rung, 'gvisor'))
      return await this.#hostFiles(directory, obstacle, still)
    const disk = this.#disk(directory, still)
    const stop = still?.stays === true ? this.#subject.pause : null
    return await this.#awake(() => this.#frozen(directory, mode, obstacle, { disk, stop }))
  }

  /** Why the processes cannot be captured; null when they can and shall be. */
  async #obstacle(mode: MemoryMode): Promise<string | null> {
    if (mode === 'none') return 'only the files were asked for'
    const { memory, noMemory, rung } = this.#runtime
    if (memory === undefined) return noMemory ?? `the rung ${rung} cannot capture running processes`
    const { id, directory } = this.#subject.place
    return await memory.obstacle({ id, sandboxDirectory: directory }, this.#services)
  }

  /**
   * Files that are the host's own. A copy of them, also a snapshot of btrfs, is of one instant only when nobody writes: a file that
   * grows meanwhile has a length there that its content has not reached. An idle sandbox only has to fall silent for it.
   */
  async #hostFiles(directory: string, reason: string, still?: WhileStill): Promise<Captured> {
    const { link, isPaused, place } = this.#subject
    const { kind, path, layers } = place.resources.disk
    const isSubvolume = kind === 'quota' && layers.length === 0
    const copy = async (): Promise<Captured> => {
      const copying = this.#copy(reason, this.#disk(directory, still))
      // Both are awaited, also when one fails: the files must not change before.
      await Promise.allSettled([copying, isSubvolume ? still?.early?.(path) : null])
      return await copying
    }
    if (isPaused()) return await copy()
    const { alone } = await link.freeze()
    try {
      if (alone) return await copy()
    } finally {
      link.thaw()
    }
    return await this.#stopped(copy)
  }

  async #copy(reason: string, disk: Once<CapturedArea>): Promise<Captured> {
    const begun = performance.now()
    const area = await disk.get()
    return { outcome: { memory: false, reason }, pausedMs: performance.now() - begun, memory: null, ...area }
  }

  async #stopped(work: () => Promise<Captured>, stop: Taking['stop'] = null): Promise<Captured> {
    const { standStill, resume, place } = this.#subject
    // What is written out by now need not be while everything waits.
    await this.#services.disks.flush(place.resources.disk)
    await standStill()
    try {
      const captured = await work()
      await stop?.()
      return captured
    } finally {
      if (stop === null) await resume()
    }
  }

  /** A guest that is stopped cannot be asked to hold still: it goes on for that moment. */
  async #awake(work: () => Promise<Captured>): Promise<Captured> {
    const { isPaused, pause, resume } = this.#subject
    if (!isPaused()) return await work()
    await resume()
    try {
      return await work()
    } finally {
      await pause()
    }
  }

  async #frozen(directory: string, mode: MemoryMode, obstacle: string | null, taking: Taking): Promise<Captured> {
    const { link } = this.#subject
    const { disk, stop } = taking
    const { alone } = await link.freeze()
    let reason: string
    try {
      const captured = obstacle === null ? await this.#withMemory(directory, mode, taking) : obstacle
      if (typeof captured !== 'string') return captured
      reason = captured
      // A disk of its own is held by its guest; elsewhere whoever runs may write.
      const settled = alone || this.#runtime.diskForm === 'image' || (await this.#throughMemory(directory, disk))
      if (settled) {
        const copied = await this.#copy(reason, disk)
        await stop?.()
        return copied
      }
    } finally {
      link.thaw()
    }
    return await this.#stopped(() => this.#copy(reason, disk), stop)
  }

  /** The files of a machine whose kernel has to be stopped for it, which only a capture does. Its memory is not kept. */
  async #throughMemory(directory: string, disk: Once<CapturedArea>): Promise<boolean> {
    if (disk.begun) return true
    if ((await this.#obstacle('auto')) !== null) return false
    const captured = await this.#withMemory(directory, 'auto', { disk, stop: null })
    await rm(join(directory, 'memory'), { recursive: true, force: true })
    return typeof captured !== 'string' || disk.begun
  }

  /** Why it could not be done, when the files alone will do. */
  async #withMemory(directory: string, mode: MemoryMode, { disk, stop }: Taking): Promise<Captured | string> {
    const { id, directory: sandboxDirectory } = this.#subject.place
    const captureDisk = async (): Promise<void> => void (await disk.get())
    try {
      if (this.#runtime.memory === undefined) throw new HearthError('internal', 'no memory to capture')
      const input = { id, sandboxDirectory, directory, captureDisk, stop }
      const { pausedMs, memory } = await this.#runtime.memory.capture(input, this.#services)
      return { outcome: { memory: true, reason: null }, pausedMs, memory, ...(await disk.get()) }
    } catch (error) {
      await rm(join(directory, 'memory'), { recursive: true, force: true })
      if (HearthError.isInstance(error) && (mode === 'required' || error.code === 'store_full')) throw error
      const reason = error instanceof Error ? error.message : String(error)
      if (mode === 'required') throw memoryRefused(reason)
      return reason
    }
  }

  /** The files, and what is to be of the same instant. */
  #disk(directory: string, still?: WhileStill): Once<CapturedArea> {
    const { disk, idBase } = this.#subject.place.resources
    return new Once(async () => {
      const capturing = this.#services.disks.capture(disk, idBase, directory)
      const [, beside] = await Promise.allSettled([capturing, still?.alongside?.()])
      if (beside.status === 'rejected') throw beside.reason
      return await capturing
    })
  }
}

/** Something that is done at the first call, and not again. */
class Once<Value> {
  readonly #work: () => Promise<Value>
  #result: Promise<Value> | null = null

  constructor(work: () => Promise<Value>) {
    this.#work = work
  }

  get begun(): boolean {
    return this.#result !== null
  }

  get(): Promise<Value> {
    this.#result ??= this.#work()
    return this.#result
  }
}
