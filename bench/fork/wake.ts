import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchContext } from '../context.ts'
import { inTurn } from '../floors/named-floor.ts'
import { firstOutput } from '../metrics/first-output.ts'
import type { Measurement, Target } from '../report/row.ts'
import { settle } from './fork-once.ts'

const TARGET: Target = { kind: 'ratio', value: 1.5 }
/** The host still writes down the memory, and takes the machine apart, that a sleeper had a moment ago. */
const REST_MS = 300

/** A sandbox that was hibernated, until a command in it has answered, in turn with one that is made of a snapshot of it. */
export async function measureWake(context: BenchContext): Promise<Measurement> {
  const { hearth, rung, capabilities } = context
  let sleeper = await context.create()
  try {
    await firstOutput(sleeper, capabilities)
    const { id } = await sleeper.snapshot()
    const rest = async (): Promise<void> => {
      await settle(context)
      await sleep(REST_MS)
    }
    const create = async (): Promise<number> => {
      await rest()
      const start = performance.now()
      await using sandbox = await hearth.create({ from: id })
      return (await firstOutput(sandbox, capabilities)) - start
    }
    const wake = async (): Promise<number> => {
      await sleeper.hibernate()
      await rest()
      const start = performance.now()
      sleeper = await hearth.wake(sleeper.id)
      return (await firstOutput(sleeper, capabilities)) - start
    }
    try {
      await create()
      await wake()
      const taken = await inTurn(context.rounds, [{ name: 'create from a snapshot', sample: create }], wake)
      return { rung, metric: 'wake, first output', unit: 'ms', ...taken, target: TARGET }
    } finally {
      await hearth.snapshots.remove(id)
    }
  } finally {
    await sleeper.kill()
  }
}
