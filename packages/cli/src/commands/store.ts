import { checkStore, collectGarbage, Hearth, storeUsage, type Garbage, type Share } from '@hearth/engine'
import { failureOf } from '../output/failure.ts'
import { printable } from '../output/printable.ts'
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

/** Frees what nobody can use any more. Ends with 1 when something could not be removed, or be told from what is in use. */
export async function removeGarbage(options: CommonOptions): Promise<number> {
  // By what was tried: opening a home sweeps it as well.
  const problems = new Map<string, string>()
  const onProblem = (what: string, error: unknown): void => {
    const { message } = failureOf(error)
    // At once: what stops all of it may follow.
    if (options.json !== true && !problems.has(what)) process.stderr.write(`${what} failed: ${printable(message)}\n`)
    problems.set(what, message)
  }
  await using hearth = new Hearth({ spareKeepers: 0, onProblem })
  const removed = await collectGarbage(hearth)
  await showRemoved(removed, problems, options)
  return problems.size === 0 ? 0 : 1
}

async function showRemoved(
  removed: Garbage,
  problems: ReadonlyMap<string, string>,
  options: CommonOptions,
): Promise<void> {
  if (options.json === true) {
    await writeJson({ ...removed, problems: [...problems].map(([what, problem]) => ({ what, problem })) })
    return
  }
  const all = [...removed.unfinished, ...removed.forks, ...removed.areas, ...removed.templates, ...removed.baked]
  if (options.quiet === true) {
    await write(process.stdout, all.map((id) => `${id}\n`).join(''))
    return
  }
  const counts = [
    `${removed.unfinished.length} unfinished snapshots`,
    `${removed.forks.length} snapshots of forks and of sleep`,
    `${removed.areas.length} areas of sandboxes`,
    `${removed.templates.length} roots of templates`,
    `${removed.baked.length} machines that were booted once`,
  ]
  await write(process.stdout, `removed ${counts.join(', ')}\n`)
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
