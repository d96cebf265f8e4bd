import type { ExecOptions, Sandbox, VolumeId } from '@hearth/contract'
import { timed, type BenchContext } from '../context.ts'
import type { Measurement } from '../report/row.ts'

const PLACE = '/workspace'
/** The same on the sandbox's own disk. */
const OWN = '/var/tmp/own'
const MEGABYTES = 64
const FILES = 2000
const PATIENCE: ExecOptions = { timeoutMs: 10 * 60_000 }

/** What a volume costs a create, and how fast its files are beside those of the sandbox's own disk. */
export async function measureVolumes(context: BenchContext): Promise<Measurement[]> {
  const { rung, capabilities, hearth } = context
  if (!capabilities.volumes || !capabilities.processes) return []
  const { id } = await hearth.volumes.create()
  try {
    const attach = () => context.create({ volumes: [{ volume: id, path: PLACE }], user: 'root' })
    // The first one may have to make what the others are made of.
    for (const make of [attach, () => context.create()]) await (await make()).kill()
    const creates = await measureCreates(context, id)
    const written = await measureBytes(attach)
    return [creates, ...written, await measureGit(context, attach)].map((measurement) => ({ ...measurement, rung }))
  } finally {
    await hearth.volumes.remove(id)
  }
}

type Part = Omit<Measurement, 'rung'>

async function measureCreates(context: BenchContext, volume: VolumeId): Promise<Part> {
  const [samples, without]: [number[], number[]] = [[], []]
  for (let round = 0; round < context.rounds; round++) {
    for (const [times, volumes] of [
      [without, []],
      [samples, [{ volume, path: PLACE }]],
    ] as const) {
      let sandbox: Sandbox | null = null
      times.push(await timed(async () => (sandbox = await context.create({ volumes: [...volumes] }))))
      await (sandbox as Sandbox | null)?.kill()
    }
  }
  const floors = [{ name: 'without a volume', samples: without }]
  return { metric: 'create with a volume', unit: 'ms', samples, floors, target: null }
}

async function measureBytes(attach: () => Promise<Sandbox>): Promise<Part[]> {
  const speeds: Record<'write' | 'read', Record<string, number[]>> = { write: {}, read: {} }
  const write = (place: string) =>
    `mkdir -p ${place}; dd if=/dev/zero of=${place}/large bs=1M count=${MEGABYTES} conv=fsync`
  {
    await using sandbox = await attach()
    for (const place of [OWN, PLACE]) speeds.write[place] = [await speed(sandbox, write(place))]
    // What it has just written it would read from its memory.
    await sandbox.exec('echo 3 > /proc/sys/vm/drop_caches')
    speeds.read[OWN] = [await speed(sandbox, `cat ${OWN}/large > /dev/null`)]
  }
  await using next = await attach()
  speeds.read[PLACE] = [await speed(next, `cat ${PLACE}/large > /dev/null`)]
  await next.exec(`rm ${PLACE}/large`)
  return (['write', 'read'] as const).map((way) => ({
    metric: `${way} ${MEGABYTES} MB in a volume`,
    unit: 'MB/s',
    samples: speeds[way][PLACE] ?? [],
    floors: [{ name: 'on its own disk', samples: speeds[way][OWN] ?? [] }],
    target: null,
  }))
}

async function speed(sandbox: Sandbox, command: string): Promise<number> {
  return (MEGABYTES * 1000) / (await timed(async () => await succeed(sandbox, command)))
}

async function measureGit({ rounds }: BenchContext, attach: () => Promise<Sandbox>): Promise<Part> {
  const times: Record<string, number[]> = {}
  await using sandbox = await attach()
  for (const place of [OWN, PLACE]) {
    const files = `mkdir -p ${place}/tree; cd ${place}/tree; i=0; while [ $i -lt ${FILES} ]; do i=$((i+1)); echo $i > f$i; done`
    const person = '-c user.name=A -c user.email=a@example.com'
    await succeed(sandbox, `${files}; git init --quiet . && git add . && git ${person} commit --quiet -m one`)
    times[place] = []
    for (let round = 0; round < rounds; round++)
      times[place].push(await timed(async () => await succeed(sandbox, `cd ${place}/tree; git status --porcelain`)))
  }
  await succeed(sandbox, `rm -rf ${PLACE}/tree`)
  return {
    metric: `git status of ${FILES} files in a volume`,
    unit: 'ms',
    samples: times[PLACE] ?? [],
    floors: [{ name: 'on its own disk', samples: times[OWN] ?? [] }],
    target: null,
  }
}

async function succeed(sandbox: Sandbox, command: string): Promise<void> {
  const { exitCode, stderr } = await sandbox.exec(command, PATIENCE)
  if (exitCode !== 0) throw new Error(`${command}: ${stderr}`)
}
