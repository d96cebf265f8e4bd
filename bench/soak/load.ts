import { setTimeout as sleep } from 'node:timers/promises'
import { Hearth, type RemoteSandbox } from '@hearth/sdk'
import { timed } from '../context.ts'
import { FloorHelper } from '../floors/floor-helper.ts'

export const KINDS = ['create', 'exec', 'delete'] as const
/** A plain child of Node, one in each round: how even this machine is by itself. */
export const FLOOR = 'plain spawn'
export type Kind = (typeof KINDS)[number] | typeof FLOOR
export type Latencies = Readonly<Record<Kind, readonly number[]>>

const SPEC = { rung: 'process', template: 'host', ttlMs: 3_600_000, limits: { memoryBytes: 64 * 1024 ** 2 } } as const
const WORKERS = 2
const EXECS = 4
/** Each worker begins a round as often as this: a load that stays the same, of about a third of two cores. */
const ROUND_MS = 250

/** Sandboxes that are used, removed and replaced at a constant pace. Any answer that is not right ends it. */
export class Load implements Disposable {
  readonly #hearth: Hearth
  readonly #floor = new FloorHelper()
  readonly #alive: RemoteSandbox[] = []
  #samples = noSamples()
  #turn = 0

  constructor(server: { readonly url: string; readonly key: string }) {
    this.#hearth = new Hearth({ url: server.url, apiKey: server.key })
  }

  async fill(count: number): Promise<void> {
    while (this.#alive.length < count) this.#alive.push(await this.#hearth.create(SPEC))
  }

  /** Works until the instant, and gives what every call took. */
  async run(until: number): Promise<Latencies> {
    this.#samples = noSamples()
    await Promise.all(Array.from({ length: WORKERS }, (_, index) => this.#work(until, index)))
    return this.#samples
  }

  /** Workers begin one after the other, so that the load is even within a round, too. */
  async #work(until: number, index: number): Promise<void> {
    const first = performance.now() + (index * ROUND_MS) / WORKERS
    for (let next = first; next < until; next = Math.max(next + ROUND_MS, performance.now())) {
      await sleep(Math.max(0, next - performance.now()))
      await this.#measure('create', async () => void this.#alive.push(await this.#hearth.create(SPEC)))
      for (let exec = 0; exec < EXECS; exec++) await this.#use(this.#turn++)
      const oldest = this.#alive.shift()
      await this.#measure('delete', async () => await oldest?.kill())
      this.#samples[FLOOR].push(await this.#floor.plainSpawn())
    }
  }

  async #use(turn: number): Promise<void> {
    const sandbox = this.#alive[turn % this.#alive.length]
    // The oldest may be taken by another worker at any time.
    if (sandbox === undefined || this.#alive.indexOf(sandbox) < WORKERS) return
    await this.#measure('exec', async () => {
      const { stdout } = await sandbox.exec(['/bin/echo', String(turn)])
      if (stdout !== `${turn}\n`) throw new Error(`${sandbox.id} answered ${JSON.stringify(stdout)} to ${turn}`)
    })
  }

  async #measure(kind: Kind, call: () => Promise<void>): Promise<void> {
    this.#samples[kind].push(await timed(call))
  }

  [Symbol.dispose](): void {
    this.#floor[Symbol.dispose]()
  }
}

function noSamples(): Record<Kind, number[]> {
  return { create: [], exec: [], delete: [], [FLOOR]: [] }
}
