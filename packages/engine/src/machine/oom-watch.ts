import { BOUNDS, type ProcessExit } from '@hearth/contract'

/**
 * Tells whether the kernel killed something for memory while a process ran. The host's counter costs a file read, so it is read only
 * when an exit looks like such a kill; what was read last is the mark from which the next process is measured.
 */
export class OomWatch {
  readonly #read: (() => Promise<number>) | undefined
  readonly #processes = new Set<number>()
  #known = 0

  constructor(read: (() => Promise<number>) | undefined) {
    this.#read = read
  }

  /** Reads the counter of a machine that may have had kills before. */
  async begin(): Promise<void> {
    if (this.#read !== undefined) this.#known = await this.#read()
  }

  /** The mark for a process that starts now. */
  get mark(): number {
    return this.#known
  }

  /** Null when an exit cannot be one for memory; otherwise resolves with whether it was. */
  check(process: number, mark: number, exit: ProcessExit): Promise<boolean> | null {
    if (this.#read === undefined || exit.exitCode === 0) return null
    return this.#compare(process, mark, this.#read)
  }

  /** Whether a process was found to have met the memory limit. */
  met(process: number): boolean {
    return this.#processes.has(process)
  }

  async #compare(process: number, mark: number, read: () => Promise<number>): Promise<boolean> {
    // A counter that is gone went with the whole machine, whose end says more than this could.
    const now = await read().catch(() => this.#known)
    this.#known = Math.max(this.#known, now)
    if (this.#known <= mark) return false
    this.#processes.add(process)
    for (const oldest of this.#processes) {
      if (this.#processes.size <= BOUNDS.retainedProcesses) break
      this.#processes.delete(oldest)
    }
    return true
  }
}
