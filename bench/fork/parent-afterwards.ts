import type { EmbeddedSandbox } from '@hearth/engine'
import { timed, type BenchContext } from '../context.ts'
import type { Measurement } from '../report/row.ts'
import { forkOnce } from './fork-once.ts'

/** Starts a program and writes over a file, and memory, that the children have too: all that is shared must be copied first. */
const WORK = 'head -c 4194304 /dev/zero > /tmp/work && cat /tmp/work > /dev/null'

/** The same work of a parent before a fork and directly after it, while its child is there. */
export async function measureParent(context: BenchContext): Promise<Measurement[]> {
  const { rung, capabilities } = context
  if (!capabilities.processes) return []
  await using parent = await context.create()
  const before: number[] = []
  const after: number[] = []
  await work(parent)
  for (let round = 0; round < context.rounds; round++) {
    before.push(await work(parent))
    await forkOnce(context, parent, 1, { answered: async () => void after.push(await work(parent)) })
  }
  const floors = [{ name: 'before it', samples: before }]
  return [{ rung, metric: 'work of the parent after a fork', unit: 'ms', samples: after, floors, target: null }]
}

async function work(parent: EmbeddedSandbox): Promise<number> {
  return await timed(async () => {
    const { exitCode, stderr } = await parent.exec(WORK)
    if (exitCode !== 0) throw new Error(`the parent could not work: ${stderr}`)
  })
}
