import type { SandboxId } from '@hearth/contract'
import type { EmbeddedSandbox } from '@hearth/engine'
import type { PlannedCreate } from './create-request.ts'

/** Starts the machine of a row. */
export type Launch = (row: PlannedCreate['row'], signal: AbortSignal) => Promise<EmbeddedSandbox>

/**
 * Machines that start while their rows are being written, since the one waits for the kernel and the other for the database. Until its
 * row is there nobody knows of such a machine: a server that dies meanwhile leaves one without a row, which the next start removes.
 */
export class EarlyLaunches {
  readonly #launch: Launch
  readonly #underWay = new Set<SandboxId>()
  /** Tenants whose last create was refused: they would start machines that they may not have. */
  readonly #refused = new Set<string>()

  constructor(launch: Launch) {
    this.#launch = launch
  }

  /** True while it is being made: nobody must take it for one that was left. */
  has(id: string): boolean {
    return this.#underWay.has(id as SandboxId)
  }

  /**
   * Null for a create that has to wait for its row. What it is made of must stay, and only its row makes a snapshot stay; and only its row
   * makes what it writes to its own.
   */
  start({ row }: PlannedCreate): EarlyLaunch | null {
    if ((row.spec.volumes ?? []).length > 0) return null
    if ((row.originId ?? null) !== null || this.#refused.has(row.tenantId)) return null
    const launch = new EarlyLaunch(this.#launch, row)
    this.#underWay.add(row.id)
    const over = (): void => void this.#underWay.delete(row.id)
    launch.settled.then(over, over)
    return launch
  }

  /** How the row of a tenant's create was taken. */
  noteRow(tenantId: string, written: boolean): void {
    if (written) this.#refused.delete(tenantId)
    else this.#refused.add(tenantId)
  }
}

export class EarlyLaunch {
  readonly #abort = new AbortController()
  readonly settled: Promise<EmbeddedSandbox>

  constructor(launch: Launch, row: PlannedCreate['row']) {
    this.settled = launch(row, this.#abort.signal)
    // Whoever waits for the machine is told.
    this.settled.catch(() => undefined)
  }

  /** The machine, given up when the signal aborts. */
  async machine(signal: AbortSignal): Promise<EmbeddedSandbox> {
    const giveUp = (): void => this.#abort.abort(signal.reason)
    if (signal.aborted) giveUp()
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      return await this.settled
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }

  /** It has no row: nothing of it stays. */
  async takeBack(): Promise<void> {
    this.#abort.abort()
    const machine = await this.settled.catch(() => null)
    await machine?.kill()
  }
}
