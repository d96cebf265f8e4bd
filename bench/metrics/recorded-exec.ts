import { timed, type BenchContext } from '../context.ts'
import type { Measurement } from '../report/row.ts'

/** What is told of each program goes beside what the command does. */
const RATIO = 1.5

/** `true` in a sandbox whose processes are recorded, in turn with one of which nobody is told. */
export async function measureRecordedExec(context: BenchContext): Promise<Measurement[]> {
  const { rung, capabilities, quick } = context
  if (!capabilities.processRecord) return []
  await using plain = await context.create()
  await using recorded = await context.create()
  await using watch = await recorded.watchProcesses()
  let told = 0
  const reading = (async () => {
    for await (const event of watch) told += event.kind === 'executed' ? 1 : 0
  })()
  const samples: number[] = []
  const without: number[] = []
  const rounds = (rung === 'microvm' ? 40 : 100) / (quick ? 4 : 1)
  for (let round = -5; round < rounds; round++) {
    const floor = await timed(async () => await plain.exec(['/bin/true']))
    const sample = await timed(async () => await recorded.exec(['/bin/true']))
    if (round < 0) continue
    without.push(floor)
    samples.push(sample)
  }
  await recorded.kill()
  await reading
  if (told < rounds) throw new Error(`of ${rounds} programs ${told} were recorded`)
  const floors = [{ name: 'without', samples: without }]
  return [
    { rung, metric: 'exec of true, recorded', unit: 'ms', samples, floors, target: { kind: 'ratio', value: RATIO } },
  ]
}
