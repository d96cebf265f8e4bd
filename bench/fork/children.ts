import type { Rung } from '@hearth/contract'
import type { EmbeddedSandbox } from '@hearth/engine'
import type { BenchContext } from '../context.ts'
import { inTurn, type NamedFloor } from '../floors/named-floor.ts'
import { createOnce } from '../metrics/create.ts'
import type { Measurement, Target } from '../report/row.ts'
import { measureChildCosts } from './child-costs.ts'
import { forkOnce, type ForkSample } from './fork-once.ts'

const SEVERAL = 8
/** Only where a machine costs next to nothing. */
const MANY = 32
const ONE_CHILD: Target = { kind: 'ratio', value: 1.5 }
const SEVERAL_MACHINES: Target = { kind: 'maximum', value: 500 }

/** How long the parent stands still, when its children are there and answer, and what each of them costs. */
export async function measureChildren(context: BenchContext): Promise<Measurement[]> {
  await using parent = await context.create()
  await forkOnce(context, parent, 1)
  const rows: Measurement[] = []
  for (const count of sharesKernel(context.rung) ? [1, SEVERAL, MANY] : [1, SEVERAL]) {
    context.progress(`${context.rung}: fork into ${count}`)
    rows.push(...(await measureFork(context, parent, count)))
  }
  return [...rows, ...(await measureChildCosts(context, parent, SEVERAL))]
}

async function measureFork(context: BenchContext, parent: EmbeddedSandbox, count: number): Promise<Measurement[]> {
  const { rung } = context
  const create: NamedFloor = { name: 'plain create', sample: () => createOnce(context) }
  const forks: ForkSample[] = []
  const rounds = count === 1 ? context.rounds : Math.ceil(context.rounds / 5)
  const { floors } = await inTurn(rounds, count === 1 ? [create] : [], async () => {
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
    row('handed out', 'handedOutMs', rung === 'microvm' && count === SEVERAL ? SEVERAL_MACHINES : null),
    row('first output of all', 'answeredMs', count === 1 && sharesKernel(rung) ? ONE_CHILD : null),
  ]
}

function sharesKernel(rung: Rung): boolean {
  return rung === 'process' || rung === 'container'
}
