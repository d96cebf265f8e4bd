import { basename, join } from 'node:path/posix'
import { BOUNDS, HearthError } from '@hearth/contract'
import { assertNotAborted } from '../../link/abort.ts'
import { TEMPLATE_USER } from '../../templates/base-files.ts'
import { TarError, type TarHeader } from '../../templates/tar/tar-header.ts'
import { readTar, type TarEntry } from '../../templates/tar/tar-reader.ts'
import { TAR_END, tarHeader, tarPadding } from '../../templates/tar/tar-writer.ts'
import type { MemoryTree } from './memory-tree.ts'
import { asHearthError, onTree } from './tree-errors.ts'
import type { TreeNode } from './tree-node.ts'

/** A directory's content with names relative to it, or a file under its own name. */
export async function* archiveTree(
  tree: MemoryTree,
  path: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void> {
  const root = onTree(() => tree.get(path, 'open'))
  for (const [name, node] of entriesOf(root, root.kind === 'directory' ? '.' : basename(path))) {
    assertNotAborted(signal)
    const content = node.kind === 'file' ? node.buffer.slice(0, node.length) : new Uint8Array()
    yield tarHeader(headerOf(name, node, content.length))
    if (content.length > 0) yield content
    const padding = tarPadding(content.length)
    if (padding.length > 0) yield padding
  }
  yield TAR_END
}

function* entriesOf(node: TreeNode, name: string): Generator<[string, TreeNode]> {
  // Sinks are the tree's own devices and have no meaning elsewhere.
  if (node.kind === 'sink') return
  yield [node.kind === 'directory' ? `${name}/` : name, node]
  if (node.kind !== 'directory') return
  for (const [child, childNode] of [...node.entries].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    yield* entriesOf(childNode, `${name}/${child}`)
  }
}

function headerOf(path: string, node: TreeNode, size: number): TarHeader {
  return {
    path,
    type: node.kind === 'sink' ? 'device' : node.kind,
    target: node.kind === 'symlink' ? node.target : '',
    mode: node.mode,
    uid: TEMPLATE_USER.id,
    gid: TEMPLATE_USER.id,
    size,
    modifiedMs: node.modifiedMs,
  }
}

/** Unpacks below a directory. An entry that would leave it is refused, also one that would leave it through a link. */
export async function extractTree(
  tree: MemoryTree,
  path: string,
  archive: Uint8Array | AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const source = archive instanceof Uint8Array ? once(archive) : archive
  const limits = { entries: tree.limits.entries, totalBytes: tree.limits.bytes, pathBytes: BOUNDS.pathBytes }
  try {
    tree.makeDirectory(path, { parents: true })
    const root = tree.locate(path, 'extract').path
    for await (const entry of readTar(source, limits)) {
      assertNotAborted(signal)
      await extractEntry(tree, root, entry)
    }
  } catch (error) {
    if (error instanceof TarError)
      throw new HearthError('file_failed', error.message, { cause: error, context: { path } })
    throw asHearthError(error)
  }
}

async function extractEntry(tree: MemoryTree, root: string, entry: TarEntry): Promise<void> {
  const { header } = entry
  const target = within(tree, root, header.path)
  if (target === root) return
  tree.makeDirectory(join(target, '..'), { parents: true })
  const existing = tree.locate(target, 'extract', false).node
  if (header.type === 'directory') {
    if (existing !== undefined && existing.kind !== 'directory') tree.remove(target)
    tree.makeDirectory(target, { parents: true, mode: header.mode })
    return
  }
  if (header.type === 'device' || header.type === 'fifo')
    throw new TarError(`${header.path}: special files are not supported`)
  if (existing !== undefined) tree.remove(target)
  if (header.type === 'file') tree.write(target, new Uint8Array(await entry.bytes()), { mode: header.mode })
  if (header.type === 'symlink') tree.symlink(header.target, target)
  if (header.type === 'hardlink') tree.link(within(tree, root, header.target), target)
  tree.setModified(target, header.modifiedMs, false)
}

/** The place of an entry, checked as the tree stands now: its parent, without links, must lie in the root. */
function within(tree: MemoryTree, root: string, name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (name.startsWith('/') || parts.includes('..')) throw new TarError(`${name} leads out of the directory`)
  for (let end = 1; end < parts.length; end++) {
    const parent = join(root, ...parts.slice(0, end))
    const place = tree.locate(parent, 'extract')
    if (place.node === undefined) break
    if (!`${place.path}/`.startsWith(root === '/' ? '/' : `${root}/`)) {
      throw new TarError(`${name} leads out of the directory through a link`)
    }
  }
  return join(root, ...parts)
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes
}
