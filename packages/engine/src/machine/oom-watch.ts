import { BOUNDS, type ProcessExit } from '@hearth/contract'

/**
 * Tells whether the kernel killed something for memory while a process ran. The host's counter costs a file read, so it is read only
 * when an exit looks like such a kill; what was read last is the mark from which the next process is measured.
 */
export class OomWatch {
  readonly #read: () => Promise<number>
  readonly #counts: boolean
  readonly #processes = new Set<number>()
  /** What the counter showed when the machine was taken up: it may have had kills before. */
  readonly #first: Promise<number>
  #known: number | null = null

  constructor(read: (() => Promise<number>) | undefined) {
    this.#counts = read !== undefined
    // A counter that cannot be read went with the whole machine, whose end says more than this could.
    this.#read = () => (read === undefined ? Promise.resolve(0) : read().catch(() => this.#known ?? 0))
    this.#first = this.#begin()
  }

  /** The mark for a process that starts now; null stands for the beginning of the watch. */
  get mark(): number | null {
    return this.#known
  }

  /** Null when an exit cannot be one for memory; otherwise resolves with whether it was. */
  check(process: number, mark: number | null, exit: ProcessExit): Promise<boolean> | null {
    return this.#counts && exit.exitCode !== 0 ? this.#compare(process, mark) : null
  }

  /** Whether a process was found to have met the memory limit. */
  met(process: number): boolean {
    return this.#processes.has(process)
  }

  async #begin(): Promise<number> {
    const first = await this.#read()
    this.#known ??= first
    return first
  }

  async #compare(process: number, mark: number | null): Promise<boolean> {
    const before = mark ?? (await this.#first)
    const now = Math.max(before, await this.#read())
    this.#known = now
    if (now <= before) return false
    this.#processes.add(process)
    for (const oldest of this.#processes) {
      if (this.#processes.size <= BOUNDS.retainedProcesses) break
      this.#processes.delete(oldest)
    }
    return true
  }
}
