import type { Command, Process, Sandbox, SpawnOptions } from '@hearth/contract'

/** An offset behind all output: whoever attaches there reads only what comes. */
const AT_THE_END = Number.MAX_SAFE_INTEGER
const LINGER_MS = 10_000

/**
 * The handles that calls of this server hold. A process has one reader, and attaching takes it away from the last: a call that only
 * wants to signal or to write therefore uses the handle that there is, and attaches by itself only when there is none.
 */
export class ProcessHandles {
  readonly #handles = new Map<string, Promise<Process>>()
  readonly #lingering = new Map<Process, NodeJS.Timeout>()

  async spawn(sandbox: Sandbox, command: Command, options: SpawnOptions): Promise<Process> {
    const process = await sandbox.spawn(command, options)
    this.#handles.set(name(sandbox, process.id), Promise.resolve(process))
    return process
  }

  /** For a reader. The reader before it, if there is one, ends with `aborted`. */
  async attach(sandbox: Sandbox, id: number, offset: number): Promise<Process> {
    const attaching = sandbox.attach(id, { offset })
    this.#handles.set(name(sandbox, id), attaching)
    try {
      return await attaching
    } catch (error) {
      this.#letGo(sandbox, id, attaching)
      throw error
    }
  }

  /** Lets it run on without a reader. */
  async release(sandbox: Sandbox, process: Process): Promise<void> {
    const held = this.#handles.get(name(sandbox, process.id))
    if (held !== undefined && (await held.catch(() => null)) === process) this.#letGo(sandbox, process.id, held)
    await process.detach()
  }

  /** For a call that does not read. Readers may come meanwhile: theirs is the handle then. */
  async control<T>(sandbox: Sandbox, id: number, work: (process: Process) => Promise<T>): Promise<T> {
    for (;;) {
      const held = this.#handles.get(name(sandbox, id))
      if (held === undefined) {
        const own = await this.#attachForControl(sandbox, id)
        if (own !== null) return await work(own).finally(() => this.#linger(sandbox, own))
      } else {
        const process = await held.catch(() => null)
        if (process !== null) return await work(process)
        this.#letGo(sandbox, id, held)
      }
    }
  }

  /** Null when a reader took the process in the same moment. */
  async #attachForControl(sandbox: Sandbox, id: number): Promise<Process | null> {
    try {
      const process = await this.attach(sandbox, id, AT_THE_END)
      // What it writes meanwhile is thrown away here, so that it does not wait for a reader; how it ends is told to others.
      process.wait().catch(() => {})
      return process
    } catch (error) {
      if (this.#handles.has(name(sandbox, id))) return null
      throw error
    }
  }

  /** Whoever writes once writes again: the handle stays for a moment, unless a reader takes the process. */
  #linger(sandbox: Sandbox, process: Process): void {
    const timer = setTimeout(() => {
      this.#lingering.delete(process)
      this.release(sandbox, process).catch(() => {
        // Its sandbox has ended, and the process with it.
      })
    }, LINGER_MS)
    timer.unref()
    this.#lingering.set(process, timer)
  }

  /** When the server stops: nothing is held any more. Processes run on. */
  async dispose(): Promise<void> {
    const lingering = [...this.#lingering]
    this.#lingering.clear()
    this.#handles.clear()
    for (const [process, timer] of lingering) {
      clearTimeout(timer)
      await process.detach().catch(() => {})
    }
  }

  #letGo(sandbox: Sandbox, id: number, handle: Promise<Process>): void {
    if (this.#handles.get(name(sandbox, id)) === handle) this.#handles.delete(name(sandbox, id))
  }
}

function name(sandbox: Sandbox, id: number): string {
  return `${sandbox.id}/${id}`
}
