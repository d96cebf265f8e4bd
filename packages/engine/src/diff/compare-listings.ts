import { isAtOrBelow, type ChangeRecord } from './change-record.ts'

/**
 * What changed between two states that are each known by how they differ from one template. Files that are the same by inode and time of
 * change, on copies of one disk, are the same; others count as changed.
 */
export function compareListings(before: readonly ChangeRecord[], after: readonly ChangeRecord[]): ChangeRecord[] {
  const old = new Map(before.map((record) => [record.path, record]))
  const now = new Map(after.map((record) => [record.path, record]))
  const changes = [
    ...after.flatMap((record) => compare(old.get(record.path), record) ?? []),
    ...before.flatMap((record) => (now.has(record.path) ? [] : revert(record))),
  ]
  return withoutNestedRemovals(changes.toSorted((one, other) => walkOrder(one.path, other.path)))
}

/** Of a removed directory, only itself is named. */
function withoutNestedRemovals(changes: readonly ChangeRecord[]): ChangeRecord[] {
  let gone: string | null = null
  const named: ChangeRecord[] = []
  for (const change of changes) {
    if (gone !== null && change.change === 'removed' && isAtOrBelow(change.path, gone)) continue
    named.push(change)
    const lost = change.change === 'removed' || (change.before === 'directory' && change.type !== 'directory')
    if (lost) gone = change.path
  }
  return named
}

function compare(old: ChangeRecord | undefined, now: ChangeRecord): ChangeRecord | null {
  if (old === undefined) return now
  const wasThere = old.change !== 'removed'
  if (now.change === 'removed') return wasThere ? { ...old, change: 'removed', before: old.type } : null
  if (!wasThere) return { ...now, change: 'added', before: null }
  return isSame(old, now) ? null : { ...now, change: 'changed', before: old.type }
}

function isSame(old: ChangeRecord, now: ChangeRecord): boolean {
  if (old.type !== now.type || old.uid !== now.uid || old.gid !== now.gid || old.target !== now.target) return false
  if (now.type !== 'symlink' && old.mode !== now.mode) return false
  if (now.type !== 'file') return true
  return old.size === now.size && old.inode === now.inode && old.changedNanoseconds === now.changedNanoseconds
}

/** It differed from the template, and does not any more. */
function revert(record: ChangeRecord): ChangeRecord {
  if (record.change === 'added') return { ...record, change: 'removed', before: record.type }
  if (record.change === 'removed') return { ...record, change: 'added', before: null }
  return { ...record, before: record.type, type: record.before ?? record.type }
}

/** A directory is followed by what is in it: the slash comes before every other character. */
function walkOrder(one: string, other: string): number {
  const [a, b] = [one.replaceAll('/', '\0'), other.replaceAll('/', '\0')]
  return a < b ? -1 : a > b ? 1 : 0
}
