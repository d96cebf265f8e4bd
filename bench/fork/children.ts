import type { Rung } from '@hearth/contract'
import { openStore, type EmbeddedSandbox } from '@hearth/engine'
import type { BenchContext } from '../context.ts'
import { inTurn, usable, type NamedFloor } from '../floors/named-floor.ts'
import { restoreFloors } from '../floors/restore-floors.ts'
import { treeCopyFloors } from '../floors/tree-copies.ts'
import { createOnce } from '../metrics/create.ts'
import type { Measurement, Target } from '../report/row.ts'
import { measureChildCosts } from './child-costs.ts'
import { forkOnce, type ForkSample } from './fork-once.ts'

const SEVERAL = 8
const MANY = 32
const ONE_CHILD: Target = { kind: 'ratio', value: 1.5 }
/** Until the guest of each has answered. What a first command takes beyond that is the emulation of its instructions. */
const SEVERAL_MACHINES: Target = { kind: 'maximum', value: 500 }
/** Of several machines, of which one sample says little. */
const LEAST_ROUNDS = 5

/** How long the parent stands still, when its children are there and answer, and what each of them costs. */
export async function measureChildren(context: BenchContext): Promise<Measurement[]> {
  await using parent = await context.create()
  await forkOnce(context, parent, 1)
  const rows: Measurement[] = []
  await using bare = await restoreFloors(context, parent)
  const floors = await usable([...(await copiesOf(context, parent)), ...bare.floors], context)
  // Many machines with kernels of their own take as long as all else together.
  for (const count of context.quick && !sharesKernel(context.rung) ? [1, SEVERAL] : [1, SEVERAL, MANY]) {
    context.progress(`${context.rung}: fork into ${count}`)
    rows.push(...(await measureFork(context, parent, count, floors)))
  }
  return [...rows, ...(await measureChildCosts(context, parent, SEVERAL))]
}

/** Its files alone, copied by the file system. */
async function copiesOf({ hearth }: BenchContext, parent: EmbeddedSandbox): Promise<readonly NamedFloor[]> {
  return (await openStore(hearth.paths)).kind === 'btrfs' ? treeCopyFloors(hearth.paths, parent) : []
}

function roundsFor({ rounds, rung }: BenchContext, count: number): number {
  if (count === 1) return rounds
  if (count === MANY && !sharesKernel(rung)) return 1
  return Math.max(Math.ceil(rounds / 5), rung === 'microvm' ? LEAST_ROUNDS : 1)
}

async function measureFork(
  context: BenchContext,
  parent: EmbeddedSandbox,
  count: number,
  copies: readonly NamedFloor[],
): Promise<Measurement[]> {
  const { rung } = context
  const create: NamedFloor = { name: 'plain create', sample: () => createOnce(context) }
  const forks: ForkSample[] = []
  const { floors } = await inTurn(roundsFor(context, count), count === 1 ? [create, ...copies] : [], async () => {
    const fork = await forkOnce(context, parent, count)
    forks.push(fork)
    return fork.answeredMs
  })
  const row = (what: string, value: keyof ForkSample, target: Target | null): Measurement => {
    const metric = `fork into ${count}, ${what}`
    const samples = forks.map((fork) => fork[value])
    return { rung, metric, unit: 'ms', samples, floors: value === 'answeredMs' ? floors : [], target }
  }
  return [
    row('pause of the parent', 'pausedMs', null),
    row('handed out', 'handedOutMs', count === SEVERAL && rung === 'microvm' ? SEVERAL_MACHINES : null),
    row('first output of all', 'answeredMs', count === 1 && sharesKernel(rung) ? ONE_CHILD : null),
  ]
}

function sharesKernel(rung: Rung): boolean {
  return rung === 'process' || rung === 'container'
}
