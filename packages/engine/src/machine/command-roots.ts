/** A command is told of with its start, which may come after what its processes do. */
const PATIENCE_MS = 1000
const MOST_ROOTS = 4096

/** Which command a main process belongs to. */
export class CommandRoots {
  readonly #commands = new Map<number, number | null>()
  readonly #awaited = new Map<number, PromiseWithResolvers<number | null>>()

  /** Numbers of processes are used again: the newest command counts. */
  note(pid: number, process: number | null): void {
    this.#commands.delete(pid)
    this.#commands.set(pid, process)
    this.#awaited.get(pid)?.resolve(process)
    this.#awaited.delete(pid)
    if (this.#commands.size <= MOST_ROOTS) return
    const [oldest] = this.#commands.keys()
    if (oldest !== undefined) this.#commands.delete(oldest)
  }

  /** The number of the command, null for what belongs to none that anybody knows. */
  async find(pid: number): Promise<number | null> {
    if (pid === 0) return null
    const known = this.#commands.get(pid)
    if (known !== undefined) return known
    const awaited = Promise.withResolvers<number | null>()
    this.#awaited.set(pid, awaited)
    // Nobody waits for the same one twice.
    const timer = setTimeout(() => this.note(pid, null), PATIENCE_MS)
    const found = await awaited.promise
    clearTimeout(timer)
    return found
  }
}
