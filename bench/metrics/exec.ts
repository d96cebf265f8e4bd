import { readFileSync } from 'node:fs'
import type { Rung, Sandbox } from '@hearth/contract'
import { timed, type BenchContext } from '../context.ts'
import { FloorHelper } from '../floors/floor-helper.ts'
import type { Floor, Measurement, Target } from '../report/row.ts'

/** The guest program, as a file inside. */
const PROBE = '/tmp/hearth-probe'

const TARGETS: Readonly<Record<Rung, Target | null>> = {
  simulated: null,
  process: { kind: 'ratio', value: 1.2 },
  container: { kind: 'ratio', value: 1.2 },
  gvisor: { kind: 'ratio', value: 1.5 },
  microvm: { kind: 'ratio', value: 1.5 },
}

/** `true` in a live sandbox, in turn with a plain child of Node or with the same done by a C program inside. */
export async function measureExec(context: BenchContext): Promise<Measurement> {
  const { rung } = context
  await using sandbox = await context.create()
  using helper = new FloorHelper()
  const inside = rung === 'gvisor' || rung === 'microvm'
  if (inside) await sandbox.files.write(PROBE, readFileSync(context.hearth.paths.guest), { mode: 0o755 })
  const floor = inside ? async () => await forkInside(sandbox, 5) : async () => [await helper.plainSpawn()]
  const floorSamples: number[] = []
  const samples: number[] = []
  for (let round = 0; round < 5; round++) await sandbox.exec(['/bin/true'])
  const rounds = inside ? (context.quick ? 5 : 20) : context.rounds * 10
  for (let round = 0; round < rounds; round++) {
    if (!inside || round % 5 === 0) floorSamples.push(...(await floor()))
    samples.push(await timed(async () => await sandbox.exec(['/bin/true'])))
  }
  const floors: Floor[] = [{ name: inside ? 'fork and exec inside' : 'plain spawn', samples: floorSamples }]
  return { rung, metric: 'exec of true', unit: 'ms', samples, floors, target: TARGETS[rung] }
}

/** The guest program's own measurement: microseconds of each fork, exec and wait. */
async function forkInside(sandbox: Sandbox, count: number): Promise<number[]> {
  const result = await sandbox.exec([PROBE, 'probe-exec', String(count)])
  const samples = result.stdout
    .trim()
    .split('\n')
    .map((line) => Number(line) / 1000)
  if (result.exitCode !== 0 || samples.some((sample) => !(sample > 0))) {
    throw new Error(`probe-exec failed: ${result.output.slice(0, 200)}`)
  }
  return samples
}
