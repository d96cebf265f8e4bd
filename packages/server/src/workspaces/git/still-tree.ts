import { randomUUID } from 'node:crypto'
import { BOUNDS, HearthError } from '@hearth/contract'
import type { StillCopy, VolumeChange } from '@hearth/engine'
import { blobEnd, blobHead, commitCommands, git, treePath, wholeBlob, type TreeEntry } from '@hearth/engine/git'
import { ignoredOf } from './ignored.ts'
import { openStill } from './still-files.ts'

export interface Skipped {
  readonly path: string
  readonly reason: string
}

/** A checkout as a tree of git. */
export interface WrittenTree {
  readonly tree: string
  /** What cannot be in a commit. */
  readonly skipped: readonly Skipped[]
  /** Some of that holds what would be lost with the files: a pipe or a socket does not. */
  readonly unsaved: boolean
}

interface Sorted {
  readonly removed: string[]
  readonly files: (VolumeChange & { readonly tree: string })[]
  readonly skipped: Skipped[]
  unsaved: boolean
}

/**
 * Writes what a still copy holds as objects into the repository. SAFETY: git never looks into the copy, whose `.git` is a guest's: only what
 * differs from the checkout of `base` is read, as bytes, and links are read as what they are.
 */
export async function writeStillTree(
  directory: string,
  base: string,
  still: StillCopy,
  changes: readonly VolumeChange[],
  options: { readonly scratch: string; readonly signal?: AbortSignal },
): Promise<WrittenTree> {
  const sorted = sortChanges(changes)
  const ignored = await ignoredOf(directory, base, still, sorted.files, options)
  const files = sorted.files.filter(({ tree }) => !ignored.has(tree))
  requireBounded(files)
  const branch = `hearth-${randomUUID()}`
  const { removed, skipped, unsaved } = sorted
  const input = importOf(still, files, (entries) => commitCommands({ branch, base, removed, entries }))
  const call = { directory, input, ...(options.signal === undefined ? {} : { signal: options.signal }) }
  const commit = (await git(['fast-import', '--quiet', '--done'], call)).toString().trim()
  const tree = await git(['rev-parse', '--verify', `${commit}^{tree}`], { directory })
  return { tree: tree.toString().trim(), skipped, unsaved }
}

/** Content first, as it is read; then the commit that names it. */
async function* importOf(
  still: StillCopy,
  files: readonly (VolumeChange & { readonly tree: string })[],
  commit: (entries: readonly TreeEntry[]) => Buffer,
): AsyncGenerator<Uint8Array, void> {
  const entries: TreeEntry[] = []
  for (const [index, file] of files.entries()) {
    const mark = index + 1
    if (file.target !== null) yield wholeBlob(mark, file.target)
    else yield* blobOf(still, file, mark)
    const mode = file.target !== null ? '120000' : (file.mode & 0o111) === 0 ? '100644' : '100755'
    entries.push({ path: file.tree, mode, mark })
  }
  yield commit(entries)
}

async function* blobOf(still: StillCopy, { name, tree }: VolumeChange & { readonly tree: string }, mark: number) {
  await using file = await openStill(still, name)
  const { size } = await file.stat()
  if (size > BOUNDS.workspaceFileBytes) throw tooLarge(tree)
  yield blobHead(mark, size)
  let left = size
  for await (const chunk of file.createReadStream({ autoClose: false, end: size - 1 })) {
    left -= (chunk as Buffer).length
    yield chunk as Buffer
  }
  if (left !== 0) throw new HearthError('internal', `${tree} changed in a still copy`)
  yield blobEnd()
}

/** What a commit can hold, what goes from it, and what it cannot hold. The repository of the guest is nobody's business. */
function sortChanges(changes: readonly VolumeChange[]): Sorted {
  const sorted: Sorted = { removed: [], files: [], skipped: [], unsaved: false }
  for (const change of changes) {
    const name = Buffer.from(change.name)
    const text = name.toString('utf8')
    if (text === '' || text === '.git' || text.startsWith('.git/')) continue
    const tree = Buffer.from(text).equals(name) ? treePath(text) : null
    const reason = skipReason(change, tree, text)
    if (reason !== null) {
      if (reason !== '' && change.change !== 'removed' && change.type !== 'other') sorted.unsaved = true
      if (reason !== '' && sorted.skipped.length < BOUNDS.workspaceSkipped) sorted.skipped.push({ path: text, reason })
      continue
    }
    const path = tree as string
    // Also where a directory becomes a file, or a file a directory: what was there makes room.
    if (change.change !== 'added') sorted.removed.push(path)
    if (change.change !== 'removed' && change.type !== 'directory') sorted.files.push({ ...change, tree: path })
  }
  // A directory whose own attributes changed is still there with all that is in it.
  const kept = new Set(changes.filter(isKeptDirectory).map(({ name }) => Buffer.from(name).toString('utf8')))
  return { ...sorted, removed: sorted.removed.filter((path) => !kept.has(path)) }
}

function isKeptDirectory({ change, type }: VolumeChange): boolean {
  return change === 'changed' && type === 'directory'
}

/** Empty for what is passed over without a word. */
function skipReason({ change, type, sizeBytes }: VolumeChange, tree: string | null, text: string): string | null {
  if (tree === null) {
    if (!text.split('/').some((part) => part.toLowerCase() === '.git')) return 'its name is no text'
    return text.toLowerCase().endsWith('.git') ? 'it is a repository of its own' : ''
  }
  if (change === 'removed') return null
  if (type === 'other') return 'it is neither a file nor a link'
  return type === 'file' && sizeBytes > BOUNDS.workspaceFileBytes
    ? `it has more than ${BOUNDS.workspaceFileBytes} bytes`
    : null
}

function requireBounded(files: readonly VolumeChange[]): void {
  const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  if (files.length > BOUNDS.workspaceChanges) {
    throw new HearthError('body_too_large', `more than ${BOUNDS.workspaceChanges} files have changed`)
  }
  if (bytes > BOUNDS.workspaceChangedBytes) {
    throw new HearthError('body_too_large', `what changed has more than ${BOUNDS.workspaceChangedBytes} bytes`)
  }
}

function tooLarge(path: string): HearthError {
  return new HearthError('body_too_large', `${path} has more than ${BOUNDS.workspaceFileBytes} bytes`)
}
