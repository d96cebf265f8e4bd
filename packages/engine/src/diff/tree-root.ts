import { HearthError } from '@hearth/contract'
import { TEMPLATE_USER } from '../templates/base-files.ts'
import type { DirectoryNode, TreeNode } from '../drivers/simulated/tree-node.ts'
import { nodeSize } from '../drivers/simulated/tree-node.ts'
import type { MemoryTree } from '../drivers/simulated/memory-tree.ts'
import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import { isAtOrBelow, type ChangeRecord, type RecordType } from './change-record.ts'
import { DIFF_LIMITS, tooManyChanges } from './diff-limits.ts'
import type { ListedChange } from './list-changes.ts'
import type { StreamPart } from './record-stream.ts'
import { presentStates, type PresentState, type RootState, type SinceOptions } from './root-state.ts'

export interface TreeRootOptions {
  /** Nobody else changes it. */
  readonly tree: MemoryTree
  /** What a snapshot held, or the template. */
  readonly earlier: (base: StoredSnapshot | null) => Promise<MemoryTree>
}

interface Difference {
  readonly path: string
  readonly before: TreeNode | undefined
  readonly after: TreeNode | undefined
}

/** The root of a simulated sandbox. */
export class TreeRoot implements RootState {
  readonly #options: TreeRootOptions

  constructor(options: TreeRootOptions) {
    this.#options = options
  }

  async changesSince(base: StoredSnapshot | null, options: SinceOptions): Promise<ListedChange[]> {
    const before = await this.#options.earlier(base)
    const limits = { ...DIFF_LIMITS, ...options.limits }
    const changes: ListedChange[] = []
    let left = limits.contentBytes
    for (const difference of compare(before.root, this.#options.tree.root, '')) {
      const { path, after } = difference
      if (options.paths?.some((chosen) => isAtOrBelow(path, chosen)) === false) continue
      if (changes.length >= limits.changes) throw tooManyChanges()
      const most = options.contentBytes === null ? -1 : Math.min(options.contentBytes, left)
      const content = after?.kind === 'file' && after.length <= most ? contentOf(after) : null
      left -= content?.length ?? 0
      changes.push({ record: recordOf(difference), content })
    }
    return changes
  }

  async *read(paths: readonly string[], content: boolean): AsyncGenerator<StreamPart, void> {
    for (const path of paths) {
      const node = find(this.#options.tree.root, path)
      if (node === undefined) continue
      const bytes = content && node.kind === 'file' ? contentOf(node) : new Uint8Array()
      const record = recordOf({ path, before: undefined, after: node })
      yield { kind: 'record', record, contentBytes: bytes.length }
      if (bytes.length > 0) yield { kind: 'content', bytes }
    }
  }

  async present(paths: readonly string[]): Promise<Map<string, PresentState>> {
    return await presentStates(this, paths)
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function find(root: DirectoryNode, path: string): TreeNode | undefined {
  let node: TreeNode | undefined = root
  for (const name of nameOf(path).split('/')) {
    if (node?.kind !== 'directory') return undefined
    node = node.entries.get(name)
  }
  return node
}

function* compare(before: DirectoryNode | null, after: DirectoryNode, path: string): Generator<Difference> {
  const names = new Set([...(before?.entries.keys() ?? []), ...after.entries.keys()])
  for (const name of [...names].toSorted()) {
    const below = path === '' ? bytesOf(name) : `${path}/${bytesOf(name)}`
    const pair = { path: below, before: before?.entries.get(name), after: after.entries.get(name) }
    if (differs(pair)) yield pair
    const inside = pair.before?.kind === 'directory' ? pair.before : null
    if (pair.after?.kind === 'directory') yield* compare(inside, pair.after, below)
  }
}

function differs({ before, after }: Difference): boolean {
  if (before === undefined || after === undefined || before.kind !== after.kind) return true
  if (after.kind === 'symlink') return before.kind !== 'symlink' || before.target !== after.target
  if (before.mode !== after.mode) return true
  if (before.kind !== 'file' || after.kind !== 'file') return false
  return !contentOf(before).equals(contentOf(after))
}

function contentOf(node: Extract<TreeNode, { kind: 'file' }>): Buffer {
  return Buffer.from(node.buffer.buffer, node.buffer.byteOffset, node.length)
}

function recordOf({ path, before, after }: Difference): ChangeRecord {
  const node = after ?? before
  if (node === undefined) throw new HearthError('internal', `there is nothing at ${path}`)
  const modified = BigInt(Math.trunc(node.modifiedMs)) * 1_000_000n
  return {
    change: before === undefined ? 'added' : after === undefined ? 'removed' : 'changed',
    type: typeOf(node),
    before: before === undefined ? null : typeOf(before),
    mode: node.mode,
    uid: TEMPLATE_USER.id,
    gid: TEMPLATE_USER.id,
    size: nodeSize(node),
    modifiedNanoseconds: modified,
    changedNanoseconds: modified,
    inode: BigInt(node.id),
    path,
    target: node.kind === 'symlink' ? bytesOf(node.target) : '',
  }
}

function typeOf({ kind }: TreeNode): RecordType {
  return kind === 'sink' ? 'device' : kind
}

/** Names of a tree are text, those of records bytes. */
function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

function nameOf(path: string): string {
  return Buffer.from(path, 'latin1').toString('utf8')
}
