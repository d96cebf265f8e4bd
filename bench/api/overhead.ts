import type { Hearth as Engine } from '@hearth/engine'
import type { Hearth } from '@hearth/sdk'
import { timed } from '../context.ts'
import { percentile, median, type Measurement, type Target } from '../report/row.ts'

const SPEC = { rung: 'process', template: 'host' } as const
const CREATE_TARGET: Target = { kind: 'added', value: 4 }
const EXEC_TARGET: Target = { kind: 'added', value: 2 }
/** How far the slowest calls may be from the usual one. */
const SPREAD_TARGET: Target = { kind: 'maximum', value: 3 }

/** Until a pool of keepers is refilled, as it would be at an agent's pace. The server cannot be asked. */
const REFILL_MS = 80
/** The first creates load and compile what all others use. */
const WARM_UP = 50

/** Creates through the API, in turn with the same by the engine in this process, while other sandboxes of both are at work. */
export async function measureCreateOverhead(client: Hearth, engine: Engine, rounds: number): Promise<Measurement[]> {
  const makers = { embedded: () => engine.create(SPEC), remote: () => client.create(SPEC) } as const
  const samples = { embedded: [] as number[], remote: [] as number[] }
  for (let round = 0; round < WARM_UP; round++) {
    for (const where of ['embedded', 'remote'] as const) await (await makers[where]()).kill()
  }
  await using local = await makers.embedded()
  await using distant = await makers.remote()
  for (let round = 0; round < rounds; round++) {
    for (const where of ['embedded', 'remote'] as const) {
      const refilled = performance.now() + REFILL_MS
      while (performance.now() < refilled) for (const busy of [local, distant]) await busy.exec(['/bin/true'])
      const started = performance.now()
      const sandbox = await makers[where]()
      samples[where].push(performance.now() - started)
      await sandbox.kill()
    }
  }
  return rows('create', CREATE_TARGET, samples)
}

/** `true` through the API, in turn with the same by the engine in this process. */
export async function measureExecOverhead(client: Hearth, engine: Engine, rounds: number): Promise<Measurement[]> {
  await using remote = await client.create(SPEC)
  await using embedded = await engine.create(SPEC)
  const samples = { remote: [] as number[], embedded: [] as number[] }
  for (let round = -10; round < rounds; round++) {
    const floor = await timed(() => embedded.exec(['/bin/true']))
    const elapsed = await timed(() => remote.exec(['/bin/true']))
    if (round < 0) continue
    samples.embedded.push(floor)
    samples.remote.push(elapsed)
  }
  return rows('exec of true', EXEC_TARGET, samples)
}

function rows(
  what: string,
  target: Target,
  samples: { readonly remote: readonly number[]; readonly embedded: readonly number[] },
): Measurement[] {
  const spread = percentile(samples.remote, 99) / median(samples.remote)
  return [
    {
      rung: 'process',
      metric: `${what} over HTTP`,
      unit: 'ms',
      samples: samples.remote,
      floors: [{ name: 'embedded', samples: samples.embedded }],
      target,
    },
    {
      rung: 'process',
      metric: `${what} over HTTP, p99 to median`,
      unit: 'ratio',
      samples: [spread],
      floors: [{ name: 'embedded', samples: [percentile(samples.embedded, 99) / median(samples.embedded)] }],
      target: SPREAD_TARGET,
    },
  ]
}
