import { timed, type BenchContext } from '../context.ts'
import type { Measurement } from '../report/row.ts'

/** Ten streams at once, and a small question while one of them floods. */
export async function measureLink(context: BenchContext): Promise<Measurement[]> {
  if (!context.capabilities.processes) return []
  const { rung } = context
  return [
    {
      rung,
      metric: 'ten streams, largest to smallest',
      unit: 'ratio',
      samples: [await fairness(context)],
      floors: [],
      target: { kind: 'maximum', value: 2 },
    },
    {
      rung,
      metric: 'answer during a flood',
      unit: 'ms',
      samples: await answersDuringFlood(context),
      floors: [],
      target: { kind: 'maximum', value: 1 },
    },
  ]
}

async function fairness(context: BenchContext): Promise<number> {
  await using sandbox = await context.create()
  const processes = await Promise.all(Array.from({ length: 10 }, async () => await sandbox.spawn(['cat', '/dev/zero'])))
  const stop = setTimeout(
    () => void Promise.all(processes.map(async (process) => await process.kill())),
    context.quick ? 1500 : 4000,
  )
  const read = await Promise.all(
    processes.map(async (process) => {
      let bytes = 0
      for await (const chunk of process.output) bytes += chunk.data.length
      return bytes
    }),
  )
  clearTimeout(stop)
  return Math.max(...read) / Math.max(1, Math.min(...read))
}

async function answersDuringFlood(context: BenchContext): Promise<number[]> {
  await using sandbox = await context.create()
  await using flood = await sandbox.spawn(['cat', '/dev/zero'])
  const reading = (async () => {
    for await (const chunk of flood.output) if (chunk.data.length === 0) break
  })()
  const samples: number[] = []
  for (let round = 0; round < (context.quick ? 50 : 200); round++)
    samples.push(await timed(async () => await sandbox.files.exists('/')))
  await flood.kill()
  await reading
  return samples
}
