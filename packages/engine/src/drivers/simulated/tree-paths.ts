import { BOUNDS } from '@hearth/contract'
import { type DirectoryNode, TreeError, type TreeNode } from './tree-node.ts'

/** As many as Linux follows in one path. */
const MAXIMUM_LINKS = 40

/** Where a name is or would be. */
export interface Location {
  readonly parent: DirectoryNode
  readonly name: string
  /** Without links and dots. */
  readonly path: string
  readonly node: TreeNode | undefined
}

/**
 * Walks a path from the root, component by component. Only this tree is ever looked at: `..` stops at its root.
 * With `follow` a link at the end is followed too, also to a name that does not exist yet.
 */
export function locate(root: DirectoryNode, path: string, operation: string, follow: boolean): Location {
  if (path.includes('\0')) throw new TreeError('EINVAL', operation, path)
  if (path.length > BOUNDS.pathBytes) throw new TreeError('ENAMETOOLONG', operation, path.slice(0, 80))
  const pending = components(path).toReversed()
  const trail: { readonly node: DirectoryNode; readonly name: string }[] = [{ node: root, name: '' }]
  let links = 0
  for (;;) {
    const name = pending.pop()
    const parent = trail.at(-1)?.node ?? root
    if (name === undefined) return itself(root, trail)
    if (name === '..') {
      if (trail.length > 1) trail.pop()
      continue
    }
    const node = parent.entries.get(name)
    if (node?.kind === 'symlink' && (pending.length > 0 || follow)) {
      if (++links > MAXIMUM_LINKS) throw new TreeError('ELOOP', operation, path)
      if (node.target.startsWith('/')) trail.length = 1
      pending.push(...components(node.target).toReversed())
      continue
    }
    if (pending.length === 0) return { parent, name, path: pathOf(trail, name), node }
    if (node === undefined) throw new TreeError('ENOENT', operation, path)
    if (node.kind !== 'directory') throw new TreeError('ENOTDIR', operation, path)
    trail.push({ node, name })
  }
}

/** Null where a part of the path is not there. */
export function locateOrNull(root: DirectoryNode, path: string, operation: string): Location | null {
  try {
    return locate(root, path, operation, false)
  } catch (error) {
    if (error instanceof TreeError && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return null
    throw error
  }
}

/** The directory that the walk ended in: the path was `/` or ended with `..` or with a link to a directory above. */
function itself(
  root: DirectoryNode,
  trail: readonly { readonly node: DirectoryNode; readonly name: string }[],
): Location {
  const last = trail.at(-1)
  const above = trail.at(-2)
  if (last === undefined || above === undefined) return { parent: root, name: '', path: '/', node: root }
  return { parent: above.node, name: last.name, path: pathOf(trail.slice(0, -1), last.name), node: last.node }
}

function components(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.')
}

function pathOf(trail: readonly { readonly name: string }[], name: string): string {
  return [...trail.map((step) => step.name), name].join('/')
}
