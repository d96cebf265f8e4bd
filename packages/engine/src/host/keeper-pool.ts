import type { Cgroups } from './cgroups.ts'
import { inBackground, type OnProblem } from './in-background.ts'
import { KeeperNursery } from './keeper-nursery.ts'
import { prepareKeeper, type PreparedKeeper } from './keeper.ts'
import { Remembered } from './remembered.ts'

/** Until what was just made has had its first commands: forking a keeper and joining its cgroup would slow them. */
const REFILL_DELAY_MS = 80
/** The next create would have to wait for a keeper of its own, which is worse. */
const EMPTY_REFILL_DELAY_MS = 40

/**
 * A few keepers whose future runtime already sits in a cgroup of its own. Joining one costs milliseconds on cgroup v1, so it is done
 * before anybody waits for it. Every rung uses the same keepers.
 */
export class KeeperPool {
  readonly #nursery: KeeperNursery
  readonly #cgroups: Cgroups
  readonly #spares: PreparedKeeper[] = []
  readonly #target: number
  readonly #onProblem: OnProblem
  #starting = 0
  #timer: NodeJS.Timeout | undefined
  #disposed = false
  readonly #initialized: Remembered<void>

  constructor(guest: string, home: string, cgroups: Cgroups, target: number, onProblem: OnProblem) {
    this.#nursery = new KeeperNursery(guest, home)
    this.#cgroups = cgroups
    this.#initialized = new Remembered(() => cgroups.initialize())
    this.#target = target
    this.#onProblem = onProblem
  }

  async take(): Promise<PreparedKeeper> {
    const spare = this.#spares.pop()
    this.#refill()
    if (spare === undefined || spare.socket.destroyed) return await this.#start()
    spare.socket.ref()
    return spare
  }

  /** Resolves when the spares are ready. */
  async fill(): Promise<void> {
    const missing = this.#target - this.#spares.length - this.#starting
    this.#starting += Math.max(0, missing)
    await Promise.all(Array.from({ length: Math.max(0, missing) }, () => this.#addSpare()))
  }

  /** Later, and later again with each that is taken meanwhile, because the create under way would pay for it. */
  #refill(): void {
    clearTimeout(this.#timer)
    if (this.#disposed) return
    const delay = this.#spares.length === 0 ? EMPTY_REFILL_DELAY_MS : REFILL_DELAY_MS
    const fill = (): Promise<void> => this.fill()
    this.#timer = setTimeout(() => void inBackground('starting keepers ahead of need', fill, this.#onProblem), delay)
    this.#timer.unref()
  }

  async #addSpare(): Promise<void> {
    try {
      const keeper = await this.#start()
      if (this.#disposed) return await this.discard(keeper)
      keeper.socket.unref()
      this.#spares.push(keeper)
    } finally {
      this.#starting--
    }
  }

  async #start(): Promise<PreparedKeeper> {
    await this.#initialized.get()
    const cgroup = this.#cgroups.newName()
    try {
      return await prepareKeeper(this.#nursery, cgroup)
    } catch (error) {
      this.#cgroups.release(cgroup)
      throw error
    }
  }

  /** A keeper that has launched nothing ends when its socket closes. */
  async discard(keeper: PreparedKeeper): Promise<void> {
    keeper.socket.destroy()
    await this.#cgroups.remove(keeper.cgroup)
  }

  async dispose(): Promise<void> {
    this.#disposed = true
    clearTimeout(this.#timer)
    await Promise.all(this.#spares.splice(0).map((keeper) => this.discard(keeper)))
    await this.#nursery[Symbol.asyncDispose]()
  }
}
