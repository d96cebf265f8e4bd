import { BOUNDS } from '@hearth/contract'

/**
 * Tells whether the kernel killed something for memory while a process ran: the host's counter is read when a process
 * starts and when it ends. The counter must be cheap, for every command pays for it twice.
 */
export class OomWatch {
  readonly #read: () => number
  readonly #processes = new Set<number>()

  constructor(read: (() => number) | undefined) {
    this.#read = read ?? (() => 0)
  }

  /** The mark for a process that starts now. */
  mark(): number {
    return this.#read()
  }

  /** Whether a process that has just ended met the memory limit; remembered for its entry in lists. */
  check(process: number, mark: number): boolean {
    if (this.#read() <= mark) return false
    this.#processes.add(process)
    for (const oldest of this.#processes) {
      if (this.#processes.size <= BOUNDS.retainedProcesses) break
      this.#processes.delete(oldest)
    }
    return true
  }

  /** Whether a process was found to have met the memory limit. */
  met(process: number): boolean {
    return this.#processes.has(process)
  }
}
