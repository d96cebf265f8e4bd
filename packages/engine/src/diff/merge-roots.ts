import { HearthError, type MergeResult } from '@hearth/contract'
import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import { readablePath, type ChangeRecord } from './change-record.ts'
import { fileChange } from './list-changes.ts'
import { planMerge, selectChanges, type Conflict } from './merge-plan.ts'
import { canBePlaced, commitOperation, placeOperation, removeOperation } from './operation-stream.ts'
import { isOwnPath } from './own-paths.ts'
import type { RootState } from './root-state.ts'
import { stateDigests } from './state-digests.ts'

export interface MergeRequest {
  readonly parent: RootState
  readonly child: RootState
  /** Where they parted. */
  readonly base: StoredSnapshot
  /** Paths of records: only the child's changes at or below these. Null for all. */
  readonly paths: readonly string[] | null
  /** Carries out operations in the parent, all or none. */
  readonly apply: (operations: AsyncIterable<Uint8Array>) => Promise<void>
  readonly signal?: AbortSignal | undefined
}

/** Brings the changes of a child into its parent; with any conflict nothing is done. */
export async function mergeRoots(request: MergeRequest): Promise<MergeResult> {
  const { parent, child } = request
  const [childChanges, parentChanges] = await Promise.all([changesOf(child, request), changesOf(parent, request)])
  const plan = planMerge(selectChanges(childChanges, request.paths), parentChanges)
  const settled = await settleContested(request, plan.contested)
  const conflicts = [...plan.conflicts, ...settled.conflicts, ...impossible(plan.apply)]
  if (conflicts.length > 0) return { applied: [], conflicts }
  const changes = plan.apply.filter(({ path }) => !settled.same.has(path))
  if (changes.length > 0) await request.apply(operations(request, changes))
  return { applied: changes.map((record) => fileChange({ record, content: null }, false)), conflicts: [] }
}

async function changesOf(root: RootState, { base, signal }: MergeRequest): Promise<ChangeRecord[]> {
  const changes = await root.changesSince(base, { paths: null, contentBytes: null, signal })
  return changes.map(({ record }) => record).filter(({ path }) => !isOwnPath(path))
}

/** Both changed these: no harm where they ended the same way. */
async function settleContested(
  { parent, child, signal }: MergeRequest,
  paths: readonly string[],
): Promise<{ readonly same: ReadonlySet<string>; readonly conflicts: readonly Conflict[] }> {
  const [ours, theirs] = await Promise.all([stateDigests(parent, paths, signal), stateDigests(child, paths, signal)])
  const same = new Set(paths.filter((path) => ours.get(path) === theirs.get(path)))
  const conflicts = paths
    .filter((path) => !same.has(path))
    .map((path) => ({ path: readablePath(path), reason: contestedReason(ours.has(path), theirs.has(path)) }))
  return { same, conflicts }
}

function contestedReason(inParent: boolean, inChild: boolean): string {
  if (!inParent) return 'the child changed it, and the parent removed it'
  return inChild ? 'both changed it, in different ways' : 'the parent changed it, and the child removed it'
}

function impossible(changes: readonly ChangeRecord[]): Conflict[] {
  return changes
    .filter(({ change, type }) => change !== 'removed' && !canBePlaced(type))
    .map(({ path, type }) => ({ path: readablePath(path), reason: `a ${type} cannot be brought into another sandbox` }))
}

/**
 * The operations of a merge, with the content of files as it is read. What is in the parent now is what they expect there: if something in
 * it changes a file meanwhile, the merge is refused instead of losing that change.
 */
async function* operations(request: MergeRequest, changes: readonly ChangeRecord[]): AsyncGenerator<Uint8Array, void> {
  const { parent, child, signal } = request
  const present = await parent.present(
    changes.map(({ path }) => path),
    signal,
  )
  for (const change of changes) {
    const there = present.get(change.path)
    if (change.change === 'removed' && there !== undefined) yield removeOperation(change, there)
  }
  const missing = new Map(changes.filter(({ change }) => change !== 'removed').map((change) => [change.path, change]))
  for await (const part of child.read([...missing.keys()], true, signal)) {
    if (part.kind === 'record') {
      // SAFETY: the child may answer for itself. Nothing gets into the parent that was not asked for and checked for conflicts.
      const planned = missing.get(part.record.path)
      if (planned === undefined) throw new HearthError('protocol_violation', 'the child sent what was not asked for')
      // Without its bytes a file of a certain size would be made of what comes next.
      const whole = part.contentBytes === (part.record.type === 'file' ? part.record.size : 0)
      if (part.record.type !== planned.type || !whole) throw movedOn(planned.path)
      missing.delete(planned.path)
    }
    yield part.kind === 'record' ? placeOperation(part.record, present.get(part.record.path) ?? null) : part.bytes
  }
  const [gone] = missing.keys()
  if (gone !== undefined) throw movedOn(gone)
  yield commitOperation()
}

function movedOn(path: string): HearthError {
  return new HearthError('conflict', `the child changed ${readablePath(path)} while it was merged`)
}
