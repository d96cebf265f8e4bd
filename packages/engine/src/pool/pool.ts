import type { PoolReport } from '@hearth/contract'
import type { HostPaths } from '../host/host.ts'
import { inBackground, type OnProblem } from '../host/in-background.ts'
import type { Machine } from '../machine/machine.ts'
import type { Prepared } from '../sandbox/launcher.ts'
import type { Outfit } from '../sandbox/sandbox-network.ts'
import type { UnownedRecord } from '../sandbox/sandbox-record.ts'
import type { PoolSettings } from './pool-options.ts'
import { isOutdated, shapeOf, type Shape } from './shape.ts'
import { Shelf } from './shelf.ts'
import { WaitingMachine } from './waiting-machine.ts'

/** How often it is looked at what waits for too long. */
const CARE_MS = 15_000
/** Clients choose limits, and images; those that nobody has asked for lately are forgotten beyond this many. */
export const MOST_SHAPES = 64
/** When memory was short, so much more than is low must be there before another machine is started. */
const RECOVERED = 1.25

/**
 * Machines that run and are nobody's yet, a few for each shape of sandbox that was asked for lately. They are started one at a time, and
 * never while a sandbox is being made: whoever comes to an empty pool shares nothing with it.
 */
export class Pool {
  readonly #paths: HostPaths
  readonly #settings: PoolSettings
  readonly #onProblem: OnProblem
  /** The shape that was asked for last is the last. */
  readonly #shelves = new Map<string, Shelf>()
  readonly #ending = new Set<Promise<void>>()
  #memoryBytes: number
  #underWay = 0
  #claimed = 0
  #missed = 0
  #filling: Promise<void> | null = null
  #quiet: NodeJS.Timeout | undefined
  #care: NodeJS.Timeout | undefined
  #disposed = false

  constructor(paths: HostPaths, settings: PoolSettings, onProblem: OnProblem) {
    this.#paths = paths
    this.#onProblem = onProblem
    this.#settings = settings
    this.#memoryBytes = settings.memoryBytes
  }

  /** What all that wait hold of the host's memory. It is given up when sandboxes need it. */
  get heldBytes(): number {
    return [...this.#shelves.values()].reduce((sum, shelf) => sum + shelf.heldBytes, 0)
  }

  report(): PoolReport {
    const now = performance.now()
    const shelves = [...this.#shelves.values()].toReversed()
    return {
      memoryBytes: this.#memoryBytes,
      heldBytes: this.heldBytes,
      waiting: shelves.reduce((sum, { size }) => sum + size, 0),
      claimed: this.#claimed,
      missed: this.#missed,
      shapes: shelves.map((shelf) => shelf.report(this.#wanted(shelf, now))),
    }
  }

  /** Another budget from now on; 0 turns the pool off. */
  async set({ memoryBytes }: { readonly memoryBytes: number }): Promise<void> {
    this.#memoryBytes = memoryBytes
    this.#trim()
    // One that is just being started was not to be had yet.
    await this.#filling
    await this.#settled()
    this.#schedule()
  }

  /** A sandbox is being made until this is disposed of. */
  enter(): Disposable {
    this.#underWay++
    clearTimeout(this.#quiet)
    return {
      [Symbol.dispose]: () => {
        this.#underWay--
        this.#schedule()
      },
    }
  }

  /** The machine of this sandbox, if one waits for such. Null when none does, or when it did not become what was asked for. */
  async claim(
    prepared: Prepared,
    record: UnownedRecord,
    outfit: Outfit,
    signal?: AbortSignal,
  ): Promise<Machine | null> {
    const shelf = this.#asked(prepared)
    const waiting = shelf?.take() ?? null
    const { configuration, info } = record
    try {
      const machine = await waiting?.claim(record, {
        limits: info.limits,
        ...configuration,
        ...outfit,
        ...(signal === undefined ? {} : { signal }),
      })
      this.#count(shelf, machine !== undefined)
      return machine ?? null
    } catch (error) {
      this.#count(shelf, false)
      if (waiting !== null) this.#end(waiting)
      signal?.throwIfAborted()
      // Whatever it was: a machine that is made for this sandbox is not concerned, or says the same.
      this.#onProblem('giving a sandbox a machine of the pool', error)
      return null
    }
  }

  /** Ends all that lie on a template, before it is removed. */
  async drop(template: string): Promise<void> {
    for (const shelf of this.#shelves.values()) if (shelf.shape.prepared.template.name === template) this.#remove(shelf)
    await this.#filling
    await this.#settled()
  }

  /** Starts as many as shall wait, at once, and resolves when they do. */
  async fill(): Promise<void> {
    clearTimeout(this.#quiet)
    this.#filling ??= this.#fill().finally(() => (this.#filling = null))
    await this.#filling
  }

  async dispose(): Promise<void> {
    this.#disposed = true
    clearTimeout(this.#quiet)
    clearInterval(this.#care)
    await this.#filling
    for (const shelf of this.#shelves.values()) this.#remove(shelf)
    await this.#settled()
  }

  /** Where the machines are that a sandbox like this one can have; null when none waits for such. */
  #asked(prepared: Prepared): Shelf | null {
    const shape = this.#memoryBytes === 0 || this.#disposed ? null : shapeOf(prepared)
    if (shape === null) return null
    const shelf = this.#shelf(shape)
    shelf.demand.note(performance.now())
    return shelf
  }

  /** Only who got a machine has claimed one. */
  #count(shelf: Shelf | null, claimed: boolean): void {
    if (shelf === null) return
    shelf.count(claimed)
    if (claimed) this.#claimed++
    else this.#missed++
    if (!claimed) this.#relieve()
  }

  #shelf(shape: Shape): Shelf {
    const known = this.#shelves.get(shape.key)
    const shelf = known ?? new Shelf(shape, this.#settings.perShape)
    this.#shelves.delete(shape.key)
    this.#shelves.set(shape.key, shelf)
    if (known === undefined) this.#replaceOlder(shelf)
    return shelf
  }

  /** Another root under the same name makes the older one's machines useless. */
  #replaceOlder(newest: Shelf): void {
    const { template } = newest.shape.prepared
    for (const shelf of this.#shelves.values()) {
      const other = shelf.shape.prepared.template
      if (other.name === template.name && other.digest !== template.digest) this.#remove(shelf)
    }
    const [oldest] = this.#shelves.values()
    if (this.#shelves.size > MOST_SHAPES && oldest !== undefined) this.#remove(oldest)
    this.#care ??= setInterval(() => this.#lookAfter(), CARE_MS).unref()
  }

  #remove(shelf: Shelf): void {
    this.#shelves.delete(shelf.shape.key)
    for (const machine of shelf.takeAway(shelf.size)) this.#end(machine)
  }

  #end(machine: WaitingMachine): void {
    // What could not be freed is seen by the next sweep, which finds it in the pool with nobody's name.
    const ending = inBackground('ending a machine of the pool', () => machine.end(), this.#onProblem)
    this.#ending.add(ending)
    void ending.then(() => this.#ending.delete(ending))
  }

  #wanted(shelf: Shelf, now: number): number {
    return this.#memoryBytes === 0 ? 0 : shelf.demand.wanted(now, this.#settings.idleMs)
  }

  #lookAfter(): void {
    this.#trim()
    this.#schedule()
  }

  /** Ends those that are more than are wanted, that lie on what is gone, or whose memory is needed. */
  #trim(): void {
    const now = performance.now()
    for (const shelf of this.#shelves.values()) {
      const wanted = this.#wanted(shelf, now)
      for (const machine of shelf.takeAway(shelf.size - wanted)) this.#end(machine)
      if (wanted === 0 || isOutdated(shelf.shape)) this.#remove(shelf)
    }
    for (const shelf of this.#shelves.values()) {
      while (this.heldBytes > this.#memoryBytes && shelf.size > 0) this.#giveUp(shelf, 1)
    }
    this.#relieve()
  }

  /** Sandboxes come first. */
  #relieve(): void {
    const { availableBytes, lowBytes } = this.#settings
    if (this.heldBytes === 0 || availableBytes() >= lowBytes) return
    for (const shelf of this.#shelves.values()) this.#giveUp(shelf, shelf.size)
  }

  #giveUp(shelf: Shelf, count: number): void {
    for (const machine of shelf.takeAway(count)) this.#end(machine)
  }

  #schedule(): void {
    clearTimeout(this.#quiet)
    if (this.#disposed || this.#underWay > 0 || this.#memoryBytes === 0) return
    const patienceMs = [...this.#shelves.values()].at(-1)?.patienceMs ?? 0
    const fill = (): Promise<void> => inBackground('filling the pool', () => this.fill(), this.#onProblem)
    this.#quiet = setTimeout(() => void fill(), Math.max(this.#settings.quietMs, patienceMs)).unref()
  }

  async #fill(): Promise<void> {
    for (let shelf = this.#next(); shelf !== null; shelf = this.#next()) await this.#add(shelf)
  }

  async #add(shelf: Shelf): Promise<void> {
    const begun = performance.now()
    try {
      const machine = await WaitingMachine.start(this.#paths, shelf.shape)
      // What was asked for may have changed meanwhile.
      const asked = this.#shelves.get(shelf.shape.key) === shelf && !this.#disposed
      if (asked) shelf.put(machine, performance.now() - begun)
      else this.#end(machine)
    } catch (error) {
      // Ahead of need only: a create without one meets the same error and reports it.
      shelf.failed(error, performance.now())
      this.#onProblem(`starting a machine of template ${shelf.shape.prepared.template.name} for the pool`, error)
    }
  }

  /** For which shape the next one is started; null when none is to be. */
  #next(): Shelf | null {
    if (this.#disposed || this.#underWay > 0) return null
    const now = performance.now()
    const short = [...this.#shelves.values()]
      .toReversed()
      .filter((shelf) => shelf.mayStart(now) && shelf.size < this.#wanted(shelf, now))
      .toSorted((one, other) => one.size - other.size)
    return short.find((shelf) => this.#makeRoom(shelf, now)) ?? null
  }

  #makeRoom(shelf: Shelf, now: number): boolean {
    const { availableBytes, lowBytes } = this.#settings
    const { nextBytes } = shelf
    if (nextBytes > this.#memoryBytes || availableBytes() - nextBytes < lowBytes * RECOVERED) return false
    for (const older of this.#shelves.values()) {
      while (this.heldBytes + nextBytes > this.#memoryBytes && older.size > 0 && older.demand.isStale(now)) {
        if (older === shelf) return false
        this.#giveUp(older, 1)
      }
    }
    return this.heldBytes + nextBytes <= this.#memoryBytes
  }

  async #settled(): Promise<void> {
    while (this.#ending.size > 0) await Promise.all(this.#ending)
  }
}
