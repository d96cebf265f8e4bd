import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { median, percentile } from './report/row.ts'
import { FLOOR, KINDS, Load } from './soak/load.ts'
import { SoakedServer } from './soak/soaked-server.ts'
import { verdict, type Minute } from './soak/verdict.ts'

/** A server at work for long: `node bench/soak.ts [--minutes 10] [--sandboxes 50] [--json]`. */

const MINUTE_MS = 60_000
const MiB = 1024 ** 2

async function soak(minutes: number, sandboxes: number, progress: (line: string) => void): Promise<Minute[]> {
  await using server = await SoakedServer.start()
  using load = new Load(server)
  await load.fill(sandboxes)
  // What is loaded and compiled once is no growth, and no measure of time.
  await load.run(performance.now() + MINUTE_MS / 6)
  const measured: Minute[] = []
  for (let minute = 1; minute <= minutes; minute++) {
    const latencies = await load.run(performance.now() + MINUTE_MS)
    measured.push({ latencies, footprint: await server.footprint() })
    progress(describe(minute, measured.at(-1)))
  }
  return measured
}

function describe(number: number, minute: Minute | undefined): string {
  if (minute === undefined) return ''
  const { latencies, footprint } = minute
  const times = ([...KINDS, FLOOR] as const).map((kind) => {
    const samples = latencies[kind]
    const times = `${median(samples).toFixed(1)}/${percentile(samples, 99).toFixed(1)} ms`
    return `${samples.length} ${kind} ${times}`
  })
  const { descriptors, rssBytes, heapBytes, mounts, directories, rows, emptyCgroups } = footprint
  const memory = `rss ${(rssBytes / MiB).toFixed(0)} MiB, heap ${(heapBytes / MiB).toFixed(1)} MiB`
  const held = `${descriptors} descriptors, ${mounts} mounts, ${emptyCgroups.length} empty cgroups, ${directories} directories, ${rows} rows`
  return `minute ${number} (load ${loadavg()[0]?.toFixed(1)}): ${times.join(', ')}; ${memory}; ${held}`
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    sandboxes: { type: 'string', default: '50' },
    json: { type: 'boolean' },
  },
})
const measured = await soak(Number(values.minutes), Number(values.sandboxes), (line) => {
  process.stderr.write(`${line}\n`)
})
const problems = verdict(measured)
const footprints = measured.map(({ footprint }) => footprint)
const text = problems.length === 0 ? 'pass' : ['FAIL', ...problems].join('\n')
const floor = measured.map(({ latencies }) => latencies[FLOOR])
const pass = problems.length === 0
process.stdout.write(values.json === true ? `${JSON.stringify({ pass, problems, floor, footprints })}\n` : `${text}\n`)
process.exitCode = problems.length === 0 ? 0 : 1
