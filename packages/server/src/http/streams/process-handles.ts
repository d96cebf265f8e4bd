import type { Process, Sandbox } from '@hearth/contract'

/** An offset behind all output: whoever attaches there reads only what comes. */
const AT_THE_END = Number.MAX_SAFE_INTEGER
const LINGER_MS = 10_000

interface Held {
  readonly attaching: Promise<Process>
  users: number
  timer: NodeJS.Timeout | null
}

/** Handles for calls that write to a process or signal it and do not read. Whoever writes once writes again: they stay for a moment. */
export class ProcessHandles {
  readonly #held = new Map<string, Held>()

  async control<T>(sandbox: Sandbox, id: number, work: (process: Process) => Promise<T>): Promise<T> {
    const name = `${sandbox.id}/${id}`
    const held = this.#held.get(name) ?? this.#hold(name, sandbox, id)
    if (held.timer !== null) clearTimeout(held.timer)
    held.timer = null
    held.users++
    try {
      return await work(await held.attaching)
    } catch (error) {
      // It may be the handle that no longer works: the next call gets another.
      this.#forget(name, held)
      throw error
    } finally {
      held.users--
      if (held.users === 0) this.#leave(name, held)
    }
  }

  #hold(name: string, sandbox: Sandbox, id: number): Held {
    const held: Held = { attaching: sandbox.attach(id, { offset: AT_THE_END }), users: 0, timer: null }
    this.#held.set(name, held)
    // What it writes meanwhile is thrown away here, so that it does not wait for a reader; how it ends is told to others. One whose machine
    // is gone, for example since the sandbox was hibernated, is of no use when that has another.
    held.attaching.then((process) => process.wait()).catch(() => this.#forget(name, held))
    return held
  }

  #leave(name: string, held: Held): void {
    if (this.#held.get(name) !== held) return void detach(held)
    held.timer = setTimeout(() => {
      this.#forget(name, held)
      void detach(held)
    }, LINGER_MS)
    held.timer.unref()
  }

  #forget(name: string, held: Held): void {
    if (this.#held.get(name) === held) this.#held.delete(name)
  }

  /** When the server stops: nothing is held any more. Processes run on. */
  async dispose(): Promise<void> {
    const all = [...this.#held.values()]
    this.#held.clear()
    for (const held of all) {
      if (held.timer !== null) clearTimeout(held.timer)
      await detach(held)
    }
  }
}

async function detach(held: Held): Promise<void> {
  try {
    await (await held.attaching).detach()
  } catch {
    // There was nothing to attach to, or its sandbox has ended: nothing is held.
  }
}
