import type { SandboxRecord } from '../state/index.ts'
import { LiveSandbox, type IdleListener } from './live-sandbox.ts'

/** All sandboxes of this host that have a machine, or can have theirs again, by id. */
export class LiveSandboxes implements Iterable<LiveSandbox> {
  readonly #listener: IdleListener
  readonly #byId = new Map<string, LiveSandbox>()

  constructor(listener: IdleListener) {
    this.#listener = listener
  }

  get(id: string): LiveSandbox | null {
    return this.#byId.get(id) ?? null
  }

  /** The one that is there, or a new one for this record. */
  ensure(record: SandboxRecord): LiveSandbox {
    const known = this.#byId.get(record.id)
    if (known !== undefined) return known
    const live = new LiveSandbox(record, this.#listener)
    this.#byId.set(record.id, live)
    return live
  }

  remove(live: LiveSandbox): void {
    live.retire()
    if (this.#byId.get(live.record.id) === live) this.#byId.delete(live.record.id)
    this.#listener.removed(live)
  }

  /** How many have a machine. */
  get size(): number {
    let asleep = 0
    for (const { record } of this.#byId.values()) if (record.state === 'hibernated') asleep++
    return this.#byId.size - asleep
  }

  [Symbol.iterator](): Iterator<LiveSandbox> {
    return this.#byId.values()
  }
}
