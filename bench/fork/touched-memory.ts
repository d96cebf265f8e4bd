import type { EmbeddedSandbox } from '@hearth/engine'
import type { Rung } from '@hearth/contract'
import type { BenchContext } from '../context.ts'
import { firstOutput } from '../metrics/first-output.ts'
import { median, type Measurement, type Target } from '../report/row.ts'
import { forkOnce, settle } from './fork-once.ts'

const LITTLE_MB = 5
const MUCH_MB = 105

interface Samples {
  readonly snapshot: number[]
  readonly restore: number[]
  readonly pause: number[]
  readonly fork: number[]
}

const METRICS: Readonly<Record<keyof Samples, string>> = {
  snapshot: 'snapshot with memory',
  restore: 'create from that snapshot, first output',
  pause: 'fork into 1, pause of the parent',
  fork: 'fork into 1, first output',
}

/** The most with a little memory touched, and for each further megabyte. */
const TARGETS: Partial<Record<Rung, Partial<Record<keyof Samples, readonly [number, number]>>>> = {
  gvisor: { snapshot: [120, 1], restore: [160, 1] },
  microvm: { pause: [40, 1.3] },
}

/** Snapshots and forks of a sandbox whose processes hold little memory, then much. */
export async function measureTouchedMemory(context: BenchContext): Promise<Measurement[]> {
  if (!context.capabilities.memory) return []
  await using sandbox = await context.create()
  await touch(sandbox, LITTLE_MB)
  await forkOnce(context, sandbox, 1)
  const little = await samplesOf(context, sandbox)
  await touch(sandbox, MUCH_MB - LITTLE_MB)
  const much = await samplesOf(context, sandbox)
  return (['snapshot', 'restore', 'pause', 'fork'] as const).flatMap((kind) => rowsOf(context.rung, kind, little, much))
}

async function touch(sandbox: EmbeddedSandbox, megabytes: number): Promise<void> {
  const script = `head -c ${megabytes}MB /dev/urandom >> /dev/shm/touched`
  const { exitCode, stderr } = await sandbox.exec(script, { timeoutMs: 300_000 })
  if (exitCode !== 0) throw new Error(`memory could not be touched: ${stderr}`)
}

async function samplesOf(context: BenchContext, sandbox: EmbeddedSandbox): Promise<Samples> {
  const { hearth, capabilities } = context
  const samples: Samples = { snapshot: [], restore: [], pause: [], fork: [] }
  for (let round = 0; round < context.rounds; round++) {
    await settle(context)
    let start = performance.now()
    const { id } = await sandbox.snapshot({ memory: 'required' })
    samples.snapshot.push(performance.now() - start)
    try {
      await settle(context)
      start = performance.now()
      await using copy = await hearth.create({ from: id, memory: 'required' })
      samples.restore.push((await firstOutput(copy, capabilities)) - start)
    } finally {
      await hearth.snapshots.remove(id)
    }
    const { pausedMs, answeredMs } = await forkOnce(context, sandbox, 1)
    samples.pause.push(pausedMs)
    samples.fork.push(answeredMs)
  }
  return samples
}

function rowsOf(rung: Rung, kind: keyof Samples, little: Samples, much: Samples): Measurement[] {
  const [most, mostEach] = TARGETS[rung]?.[kind] ?? []
  const each = (median(much[kind]) - median(little[kind])) / (MUCH_MB - LITTLE_MB)
  const row = (
    what: string,
    unit: Measurement['unit'],
    samples: readonly number[],
    value: number | undefined,
  ): Measurement => {
    const target: Target | null = value === undefined ? null : { kind: 'maximum', value }
    return { rung, metric: `${METRICS[kind]}, ${what}`, unit, samples, floors: [], target }
  }
  return [
    row(`${LITTLE_MB} MB touched`, 'ms', little[kind], most),
    row(`${MUCH_MB} MB touched`, 'ms', much[kind], undefined),
    row('each further MB', 'ms/MB', [each], mostEach),
  ]
}
