import { checkStore, collectGarbage, Hearth, storeUsage, type Share } from '@hearth/engine'
import { placeText } from '../output/store-place.ts'
import { formatBytes, table } from '../output/table.ts'
import { write, writeJson } from '../output/write.ts'
import type { CommonOptions } from '../register/common.ts'

/** What fills the store. */
export async function showUsage(options: CommonOptions): Promise<number> {
  await using hearth = new Hearth({ spareKeepers: 0 })
  const usage = await storeUsage(hearth.paths)
  if (options.json === true) {
    await writeJson(usage)
    return 0
  }
  const row = (name: string, { count, bytes }: Share): string[] => [name, String(count), formatBytes(bytes)]
  const place = usage.place === null ? `${usage.kind} (${usage.reason})` : `${usage.kind} ${placeText(usage.place)}`
  const rows = [
    ['WHAT', 'COUNT', 'BYTES'],
    row('sandboxes', usage.areas),
    row('snapshots', usage.snapshots),
    row('  memory of them', usage.memory),
    row('forks', usage.forks),
    row('hibernated sandboxes', usage.hibernated),
    row('booted machines', usage.baked),
    row('templates', usage.templates),
    row('cache', usage.cache),
  ]
  const free = `${formatBytes(usage.freeBytes)} of ${formatBytes(usage.totalBytes)} free, ${place}\n`
  await write(process.stdout, options.quiet === true ? table(rows.slice(1)) : table(rows) + free)
  return 0
}

/** Frees what nobody can use any more. */
export async function removeGarbage(options: CommonOptions): Promise<number> {
  await using hearth = new Hearth({ spareKeepers: 0 })
  const removed = await collectGarbage(hearth)
  if (options.json === true) {
    await writeJson(removed)
    return 0
  }
  const all = [...removed.unfinished, ...removed.forks, ...removed.areas, ...removed.templates, ...removed.baked]
  if (options.quiet === true) {
    await write(process.stdout, all.map((id) => `${id}\n`).join(''))
    return 0
  }
  const counts = [
    `${removed.unfinished.length} unfinished snapshots`,
    `${removed.forks.length} snapshots of forks and of sleep`,
    `${removed.areas.length} areas of sandboxes`,
    `${removed.templates.length} roots of templates`,
    `${removed.baked.length} machines that were booted once`,
  ]
  await write(process.stdout, `removed ${counts.join(', ')}\n`)
  return 0
}

/** Ends with 1 when something is damaged. */
export async function checkAll(options: CommonOptions): Promise<number> {
  await using hearth = new Hearth({ spareKeepers: 0 })
  const sandboxes = new Set((await hearth.survey()).map(({ id }): string => id))
  const check = await checkStore(hearth.paths, sandboxes)
  const damaged = check.problems.some(({ kind }) => kind === 'damaged')
  if (options.json === true) await writeJson(check)
  else if (options.quiet === true) await write(process.stdout, check.problems.map(({ id }) => `${id}\n`).join(''))
  else {
    const rows = check.problems.map(({ kind, id, problem }) => [id, kind, problem])
    const verdict = `${check.snapshots} snapshots, ${check.problems.length} problems\n`
    await write(process.stdout, (rows.length === 0 ? '' : table([['ID', 'KIND', 'PROBLEM'], ...rows])) + verdict)
  }
  return damaged ? 1 : 0
}
