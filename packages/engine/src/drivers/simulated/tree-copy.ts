import type { FileNode, TreeNode } from './tree-node.ts'

/** `files`: what was copied already, so that two names of one file stay two names of one file. */
export function copyNode(node: TreeNode, files: Map<FileNode, FileNode>): TreeNode {
  if (node.kind === 'directory') {
    if (node.volume !== null) {
      const { id, mode, modifiedMs } = node
      return { kind: 'directory', volume: null, id, mode, modifiedMs, entries: new Map() }
    }
    const entries = new Map([...node.entries].map(([name, child]) => [name, copyNode(child, files)]))
    return { ...node, entries }
  }
  if (node.kind !== 'file') return { ...node }
  const known = files.get(node)
  if (known !== undefined) return known
  // The bytes of a file are never changed where they lie, only added to behind its end: without that room they can be shared.
  const copy = { ...node, buffer: node.buffer.subarray(0, node.length) }
  files.set(node, copy)
  return copy
}
