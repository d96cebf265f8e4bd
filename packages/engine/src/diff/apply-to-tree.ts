import { HearthError } from '@hearth/contract'
import type { MemoryTree } from '../drivers/simulated/memory-tree.ts'
import { onTree } from '../drivers/simulated/tree-errors.ts'
import { TreeError, nodeSize, type TreeNode } from '../drivers/simulated/tree-node.ts'
import { readOperations, type Operation } from './read-operations.ts'

/** Carries out a merge in a simulated sandbox. Calls on a tree are synchronous: nobody sees a part of it. */
export async function applyToTree(tree: MemoryTree, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const operations = await readOperations(chunks, tree.limits.bytes)
  onTree(() => {
    for (const operation of operations) check(tree, operation)
    // What a copy takes, the tree takes too. Volumes are in no copy: there a merge can stop in the middle when their disk is full.
    const inMemory = operations.filter((operation) => !tree.isInVolume(pathOf(operation)))
    carryOut(tree.clone(), inMemory)
    carryOut(tree, operations)
  })
}

function carryOut(tree: MemoryTree, operations: readonly Operation[]): void {
  for (const operation of operations) {
    if (operation.kind === 'remove') tree.remove(pathOf(operation), { recursive: true })
    else place(tree, operation)
  }
  // What is put into a directory changes its time, so that directories come last.
  for (const operation of operations.toReversed()) {
    if (operation.kind === 'place')
      tree.setModified(pathOf(operation), Number(operation.modifiedNanoseconds / 1_000_000n), false)
  }
}

function place(tree: MemoryTree, operation: Operation): void {
  const path = pathOf(operation)
  const { type, mode, content, target } = operation
  const there = nodeAt(tree, path)
  if (there !== undefined && (type !== 'directory' || there.kind !== 'directory'))
    tree.remove(path, { recursive: true })
  if (type === 'file') tree.write(path, content.slice(), { mode, exclusive: true })
  else if (type === 'symlink') tree.symlink(textOf(target), path)
  else if (type === 'directory') {
    if (there?.kind !== 'directory') tree.makeDirectory(path)
    tree.setMode(path, mode)
  } else throw new HearthError('file_failed', `a ${type} cannot be made at ${path}`)
}

function check(tree: MemoryTree, { path, expected }: Operation): void {
  const node = nodeAt(tree, `/${textOf(path)}`)
  if (isExpected(node, expected)) return
  throw new HearthError('conflict', `/${textOf(path)} changed while it was merged`)
}

function isExpected(node: TreeNode | undefined, expected: Operation['expected']): boolean {
  if (node === undefined || expected === null) return node === undefined && expected === null
  if ((node.kind === 'sink' ? 'device' : node.kind) !== expected.type) return false
  if (node.kind !== 'file') return true
  return (
    nodeSize(node) === expected.size &&
    BigInt(Math.trunc(node.modifiedMs)) === expected.modifiedNanoseconds / 1_000_000n
  )
}

function nodeAt(tree: MemoryTree, path: string): TreeNode | undefined {
  try {
    return tree.locate(path, 'stat', false).node
  } catch (error) {
    if (error instanceof TreeError && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined
    throw error
  }
}

function pathOf({ path }: Operation): string {
  return `/${textOf(path)}`
}

function textOf(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
