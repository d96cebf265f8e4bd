import { statfs } from 'node:fs/promises'
import { styleText } from 'node:util'
import {
  Hearth,
  inspectStore,
  readHostFacts,
  type CgroupHierarchy,
  type Probe,
  type RungReport,
  type Store,
  type TemplateListing,
} from '@hearth/engine'
import { Progress } from '../output/progress.ts'
import { placeText } from '../output/store-place.ts'
import { formatBytes, table } from '../output/table.ts'
import { write, writeJson } from '../output/write.ts'
import { version } from '../version.ts'

interface StoreReport {
  readonly kind: Store['kind']
  readonly place: Store['place']
  readonly reason: string | null
  readonly totalBytes: number | null
  readonly freeBytes: number | null
}

interface Report {
  readonly rungs: readonly RungReport[]
  readonly cgroups: CgroupHierarchy
  readonly store: StoreReport
  readonly templates: readonly TemplateListing[]
  readonly home: string
  readonly root: boolean
}

/** Shows what works on this machine, why the rest does not, and what would change that. Fails when no rung with processes works. */
export async function doctor(options: { readonly json?: boolean; readonly quiet?: boolean }): Promise<number> {
  const report = await examine(options.quiet === true)
  if (options.json === true) await writeJson(reportJson(report))
  else if (options.quiet === true)
    await write(
      process.stdout,
      workingRungs(report)
        .map((name) => `${name}\n`)
        .join(''),
    )
  else await write(process.stdout, reportText(report))
  const usable = report.rungs.some(({ probe }) => probe.available && probe.capabilities.processes)
  return usable ? 0 : 1
}

async function examine(quiet: boolean): Promise<Report> {
  using progress = new Progress(quiet || !process.stderr.isTTY)
  progress.say('trying each rung')
  await using hearth = new Hearth({ spareKeepers: 0 })
  const [rungs, facts, store, templates] = await Promise.all([
    hearth.rungs({ fresh: true }),
    readHostFacts(),
    examineStore(hearth),
    hearth.templates.list(),
  ])
  return { rungs, cgroups: facts.cgroups, store, templates, home: hearth.paths.home, root: facts.root }
}

async function examineStore(hearth: Hearth): Promise<StoreReport> {
  const store = await inspectStore(hearth.paths)
  if (store.kind === 'directory') return { ...store, totalBytes: null, freeBytes: null }
  const { blocks, bavail, bsize } = await statfs(hearth.paths.store)
  return { ...store, totalBytes: blocks * bsize, freeBytes: bavail * bsize }
}

function workingRungs({ rungs }: Report): string[] {
  return [...new Set(rungs.filter(({ probe }) => probe.available).map(({ rung }) => rung))]
}

function reportJson({ rungs, cgroups, store, templates, home, root }: Report): object {
  return {
    version: version(),
    node: process.versions.node,
    home,
    root,
    rungs: rungs.map(({ rung, driver, probe, selected }) => ({ rung, driver, selected, ...probe })),
    cgroups,
    store,
    templates: templates.map(({ name, digest, builtAt }) => ({ name, digest, builtAt })),
  }
}

function reportText(report: Report): string {
  const rungs = table([['RUNG', 'STATE', 'DRIVER', ''], ...report.rungs.flatMap(rungRows)])
  const facts = table([
    ['cgroups', cgroupText(report.cgroups)],
    ['store', storeText(report.store)],
    [
      'templates',
      report.templates.map(({ name, digest }) => (digest === null ? `${name} (at first use)` : name)).join(', '),
    ],
    ['home', report.home],
  ])
  return `${rungs}\n${facts}`.replaceAll(/ (works|no)(?= )/g, (_, state: string) => ` ${colour(state)}`)
}

function rungRows({ rung, driver, probe, selected }: RungReport): string[][] {
  const [first = '', ...more] = remarks(probe, selected)
  const label = probe.available ? probe.label : driver
  return [[rung, probe.available ? 'works' : 'no', label, first], ...more.map((text) => ['', '', '', text])]
}

function remarks(probe: Probe, selected: boolean): string[] {
  if (!probe.available) return [probe.reason, ...(probe.fix === null ? [] : [`fix: ${probe.fix}`])]
  return [
    ...(selected ? ['used unless another is asked for'] : []),
    ...(probe.capabilities.processRecord ? ['its record can have the processes that commands start'] : []),
    ...probe.notes,
  ]
}

function cgroupText(cgroups: CgroupHierarchy): string {
  if (cgroups.kind === 'none') return `none: ${cgroups.reason}`
  if (cgroups.kind === 'v2') return `v2 at ${cgroups.root}`
  const { memory, pids, cpu } = cgroups
  const present = Object.entries({ memory, pids, cpu }).filter(([, path]) => path !== null)
  return `v1 (${present.map(([name]) => name).join(', ')})`
}

function storeText({ place, reason, totalBytes, freeBytes }: StoreReport): string {
  if (place === null) return `disk limits are kept in memory: ${reason ?? ''}`
  return `btrfs with quotas ${placeText(place)}, ${formatBytes(freeBytes ?? 0)} of ${formatBytes(totalBytes ?? 0)} free`
}

/** Colour only on a terminal that shows it. */
function colour(state: string): string {
  return styleText(state === 'works' ? 'green' : 'yellow', state, { stream: process.stdout })
}
