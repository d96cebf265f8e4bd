import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from '@hearth/contract'
import { openStore, type EmbeddedSandbox } from '@hearth/engine'
import { DESCRIPTORS } from '../../packages/engine/src/drivers/microvm/machine-arguments.ts'
import { runStore } from '../../packages/engine/src/store/store-helper.ts'
import type { BenchContext } from '../context.ts'
import { commandOf, descriptorFile, liveRuntime } from '../floors/live-runtime.ts'
import { inTurn, type NamedFloor } from '../floors/named-floor.ts'
import { createOnce } from '../metrics/create.ts'
import { copiedKilobytes, wholeKilobytes } from '../metrics/process-memory.ts'
import type { Measurement, Target } from '../report/row.ts'
import { forkOnce } from './fork-once.ts'

/** The number of children whose memory and disk are looked at. */
const SEVERAL = 8
const ONE_CHILD: Target = { kind: 'ratio', value: 1.5 }
const SEVERAL_MACHINES: Target = { kind: 'maximum', value: 500 }
const COPIED: Target = { kind: 'maximum', value: 2000 }

/** How long the parent stands still, when its children answer, and what each of them costs. */
export async function measureChildren(context: BenchContext): Promise<Measurement[]> {
  const { rung, capabilities } = context
  const sharesKernel = rung === 'process' || rung === 'container'
  await using parent = await context.create()
  await forkOnce(context, parent, 1)
  const create: NamedFloor = { name: 'plain create', sample: () => createOnce(context) }
  const costs = new Costs(context, parent)
  const rows: Measurement[] = []
  for (const count of sharesKernel ? [1, SEVERAL, 32] : [1, SEVERAL]) {
    context.progress(`${rung}: fork into ${count}`)
    const pauses: number[] = []
    const rounds = count === 1 ? context.rounds : Math.ceil(context.rounds / 5)
    const taken = await inTurn(rounds, count === 1 ? [create] : [], async () => {
      const measured = capabilities.processes && count === SEVERAL
      const look = measured ? (children: readonly EmbeddedSandbox[]) => costs.look(children) : undefined
      const { pausedMs, answeredMs } = await forkOnce(context, parent, count, look)
      pauses.push(pausedMs)
      return answeredMs
    })
    const metric = count === 1 ? 'fork to the first answer' : `fork until all ${count} answer`
    const several = rung === 'microvm' && count === SEVERAL ? SEVERAL_MACHINES : null
    const target = count === 1 && sharesKernel ? ONE_CHILD : several
    const pause = `pause of the parent, ${count === 1 ? 'one child' : `${count} children`}`
    rows.push({ rung, metric, unit: 'ms', ...taken, target })
    rows.push({ rung, metric: pause, unit: 'ms', samples: pauses, floors: [], target: null })
  }
  return [...rows, ...costs.rows()]
}

/** What children cost when they have answered once. */
class Costs {
  readonly #context: BenchContext
  readonly #parent: EmbeddedSandbox
  readonly #memory: number[] = []
  readonly #copied: number[] = []
  readonly #disk: number[] = []
  #alone: number | null = null

  constructor(context: BenchContext, parent: EmbeddedSandbox) {
    this.#context = context
    this.#parent = parent
    if (context.capabilities.processes) this.#alone = wholeKilobytes(context.hearth, parent)
  }

  async look(children: readonly EmbeddedSandbox[]): Promise<void> {
    const { hearth, rung } = this.#context
    const together = [this.#parent, ...children].reduce((sum, sandbox) => sum + wholeKilobytes(hearth, sandbox), 0)
    // What it shared with its children by then counts for less in the parent: all are taken together.
    this.#memory.push((together - (this.#alone ?? 0)) / children.length)
    if (rung === 'microvm') this.#copied.push(...children.map((child) => this.#copiedBy(child)))
    if ((await openStore(hearth.paths)).kind !== 'btrfs') return
    for (const child of children) {
      const used = await runStore(hearth.paths.guest, 'usage', join(hearth.paths.store, 'areas', child.id))
      this.#disk.push(Number(used) / 1000)
    }
  }

  #copiedBy(child: Sandbox): number {
    const { pid } = commandOf(liveRuntime(this.#context.hearth, child), /^qemu-system/)
    return copiedKilobytes(readFileSync(`/proc/${pid}/smaps`, 'utf8'), descriptorFile(pid, DESCRIPTORS.memory))
  }

  rows(): Measurement[] {
    const { rung } = this.#context
    const base = { rung, unit: 'KB', floors: [] } as const
    const all: Measurement[] = [
      { ...base, metric: 'memory of each child', samples: this.#memory, target: null },
      { ...base, metric: 'guest memory that a child copied', samples: this.#copied, target: COPIED },
      { ...base, metric: 'disk of each child', samples: this.#disk, target: null },
    ]
    return all.filter(({ samples }) => samples.length > 0)
  }
}
