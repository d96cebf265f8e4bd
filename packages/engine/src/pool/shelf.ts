import type { PoolShape, Rung } from '@hearth/contract'
import { Demand } from './demand.ts'
import type { Shape } from './shape.ts'
import type { WaitingMachine } from './waiting-machine.ts'

const MiB = 1024 ** 2
/** What one holds, until the first of its shape has been measured. */
const ESTIMATES: Readonly<Record<Rung, number>> = {
  simulated: MiB,
  process: 4 * MiB,
  container: 6 * MiB,
  gvisor: 48 * MiB,
  microvm: 128 * MiB,
}
/** How long a start takes, until one was measured. */
const STARTS_MS: Readonly<Record<Rung, number>> = {
  simulated: 1,
  process: 15,
  container: 20,
  gvisor: 150,
  microvm: 200,
}
/** A sandbox that was just handed out does its first work alone: longer where both take longer, but not for ever. */
const PATIENCE = { starts: 4, mostMs: 1000 } as const
/** After a start that failed none is tried for so long. */
const FAILED_MS = 60_000

/** The machines of one shape. */
export class Shelf {
  readonly shape: Shape
  readonly demand: Demand
  readonly #waiting: WaitingMachine[] = []
  #estimate: number
  #startMs: number
  #failed: { readonly at: number; readonly problem: string } | null = null
  #claimed = 0
  #missed = 0

  constructor(shape: Shape, perShape: number) {
    this.shape = shape
    this.demand = new Demand(perShape)
    this.#estimate = ESTIMATES[shape.prepared.driver.rung]
    this.#startMs = STARTS_MS[shape.prepared.driver.rung]
  }

  get size(): number {
    return this.#waiting.length
  }

  get heldBytes(): number {
    return this.#waiting.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)
  }

  /** What one more would hold. */
  get nextBytes(): number {
    return this.#estimate
  }

  mayStart(now: number): boolean {
    return this.#failed === null || now - this.#failed.at >= FAILED_MS
  }

  /** How long after the last create the next one may be started. */
  get patienceMs(): number {
    return Math.min(PATIENCE.starts * this.#startMs, PATIENCE.mostMs)
  }

  /** It took so long to start. */
  put(machine: WaitingMachine, startMs: number): void {
    this.#failed = null
    this.#startMs = startMs
    this.#estimate = machine.memoryBytes
    this.#waiting.push(machine)
    void machine.ended.then(() => this.#remove(machine))
  }

  failed(error: unknown, at: number): void {
    this.#failed = { at, problem: error instanceof Error ? error.message : String(error) }
  }

  /** The one that has waited for longest, for a sandbox. */
  take(): WaitingMachine | null {
    return this.#waiting.shift() ?? null
  }

  /** Whether a sandbox that was asked for became one of its machines. */
  count(claimed: boolean): void {
    if (claimed) this.#claimed++
    else this.#missed++
  }

  /** So many, to be ended. */
  takeAway(count: number): WaitingMachine[] {
    return this.#waiting.splice(0, Math.max(0, count))
  }

  report(wanted: number): PoolShape {
    const { driver, probe, template, limits } = this.shape.prepared
    const { cpus, memoryBytes, pids, diskBytes } = limits
    return {
      template: template.name,
      rung: driver.rung,
      driver: probe.label,
      limits: { cpus, memoryBytes, pids, diskBytes },
      waiting: this.size,
      wanted,
      heldBytes: this.heldBytes,
      claimed: this.#claimed,
      missed: this.#missed,
      problem: this.#failed?.problem ?? null,
    }
  }

  #remove(machine: WaitingMachine): void {
    const index = this.#waiting.indexOf(machine)
    if (index !== -1) this.#waiting.splice(index, 1)
  }
}
