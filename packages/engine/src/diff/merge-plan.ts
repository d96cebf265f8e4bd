import { readablePath, type ChangeRecord } from './change-record.ts'

export interface Conflict {
  readonly path: string
  readonly reason: string
}

export interface MergePlan {
  /** What would be brought into the parent, in the order of a walk. */
  readonly apply: readonly ChangeRecord[]
  /** Paths that both changed. They are in `apply`: if both ended the same way there is nothing to do for them, else it is a conflict. */
  readonly contested: readonly string[]
  /** Changes that cannot both be, whatever is in the files. */
  readonly conflicts: readonly Conflict[]
}

/**
 * Three-way: what a child and its parent changed since the fork, and what of the child's can be brought back. Both lists are in the order
 * of a walk and name a removed directory by itself alone.
 */
export function planMerge(child: readonly ChangeRecord[], parent: readonly ChangeRecord[]): MergePlan {
  const childChanges = byPath(child)
  const parentChanges = byPath(parent)
  const apply: ChangeRecord[] = []
  const contested: string[] = []
  const conflicts: Conflict[] = []
  for (const change of child) {
    const lost = ancestorsOf(change.path).find((path) => isGone(parentChanges.get(path)))
    if (lost !== undefined) {
      if (change.change !== 'removed') conflicts.push(lostBelow(change.path, lost, 'the parent'))
      continue
    }
    const other = parentChanges.get(change.path)
    if (other?.change === 'removed' && change.change === 'removed') continue
    apply.push(change)
    if (other !== undefined) contested.push(change.path)
  }
  for (const change of parent) {
    const lost = ancestorsOf(change.path).find((path) => isGone(childChanges.get(path)))
    if (lost !== undefined && change.change !== 'removed') conflicts.push(lostBelow(change.path, lost, 'the child'))
  }
  return { apply, contested, conflicts }
}

/** What of the child's changes is asked for, with the directories that it needs to be in. */
export function selectChanges(changes: readonly ChangeRecord[], paths: readonly string[] | null): ChangeRecord[] {
  if (paths === null) return [...changes]
  const wanted = new Set(paths)
  const chosen = new Set<string>()
  for (const { path, change } of changes) {
    if (![path, ...ancestorsOf(path)].some((each) => wanted.has(each)) && !wanted.has('')) continue
    chosen.add(path)
    if (change !== 'removed') for (const ancestor of ancestorsOf(path)) chosen.add(ancestor)
  }
  return changes.filter(({ path }) => chosen.has(path))
}

function byPath(changes: readonly ChangeRecord[]): ReadonlyMap<string, ChangeRecord> {
  return new Map(changes.map((change) => [change.path, change]))
}

/** The directory was removed, or something else is in its place. */
function isGone(change: ChangeRecord | undefined): boolean {
  return change !== undefined && (change.change === 'removed' || change.type !== 'directory')
}

/** The directories that lead to a path, the root excepted, topmost first. */
function ancestorsOf(path: string): string[] {
  const ancestors: string[] = []
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) ancestors.push(path.slice(0, at))
  return ancestors
}

function lostBelow(path: string, lost: string, who: string): Conflict {
  const other = who === 'the parent' ? 'the child' : 'the parent'
  return { path: readablePath(path), reason: `${other} changed it, and ${who} removed ${readablePath(lost)}` }
}
