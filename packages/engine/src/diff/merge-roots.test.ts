import { HearthError } from '@hearth/contract'
import { beforeEach, describe, expect, it } from 'vitest'
import { MemoryTree } from '../drivers/simulated/memory-tree.ts'
import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import { applyToTree } from './apply-to-tree.ts'
import { mergeRoots, type MergeRequest } from './merge-roots.ts'
import type { StreamPart } from './record-stream.ts'
import type { RootState } from './root-state.ts'
import { TreeRoot } from './tree-root.ts'

const LIMITS = { bytes: 10_000, entries: 100 }
/** A tree knows what it was by itself. */
const BASE = {} as StoredSnapshot

let base: MemoryTree
let parent: MemoryTree
let child: MemoryTree

beforeEach(() => {
  base = new MemoryTree(LIMITS)
  for (const path of ['/dir', '/etc']) base.makeDirectory(path)
  for (const path of ['/one', '/two', '/dir/three', '/etc/hostname']) base.write(path, Buffer.from('base'))
  parent = base.clone()
  child = base.clone()
})

function state(tree: MemoryTree): RootState {
  return new TreeRoot({ tree: tree.clone(), earlier: async () => base })
}

async function merge(request: Partial<MergeRequest> = {}) {
  const roots = { parent: state(parent), child: state(child), base: BASE, paths: null }
  const result = await mergeRoots({ ...roots, apply: (operations) => applyToTree(parent, operations), ...request })
  return { applied: result.applied.map(({ change, path }) => `${change} ${path}`), conflicts: result.conflicts }
}

function text(path: string): string {
  return Buffer.from(parent.read(path)).toString()
}

describe('a merge', () => {
  it('brings back what the child changed, and keeps what the parent changed', async () => {
    child.write('/one', Buffer.from('child'))
    child.remove('/dir', { recursive: true })
    child.makeDirectory('/new', { mode: 0o700 })
    child.write('/new/é', Buffer.from('new'))
    child.symlink('../é', '/new/link')
    parent.write('/two', Buffer.from('parent'))
    expect(await merge()).toEqual({
      applied: ['removed /dir', 'added /new', 'added /new/link', 'added /new/é', 'changed /one'],
      conflicts: [],
    })
    expect([text('/one'), text('/two'), text('/new/é')]).toEqual(['child', 'parent', 'new'])
    expect(parent.get('/new', 'stat').mode).toBe(0o700)
    expect(await merge()).toEqual({ applied: [], conflicts: [] })
  })

  it('does nothing when anything is in conflict', async () => {
    child.write('/one', Buffer.from('child'))
    child.write('/two', Buffer.from('child'))
    child.remove('/dir/three')
    parent.write('/one', Buffer.from('parent'))
    parent.write('/dir/three', Buffer.from('parent'))
    const { applied, conflicts } = await merge()
    expect(applied).toEqual([])
    expect(conflicts).toEqual([
      { path: '/dir/three', reason: 'the parent changed it, and the child removed it' },
      { path: '/one', reason: 'both changed it, in different ways' },
    ])
    expect(text('/two')).toBe('base')
    // Only what is asked for can be in conflict.
    expect(await merge({ paths: ['two'] })).toEqual({ applied: ['changed /two'], conflicts: [] })
  })

  it('takes the same change of both for no conflict', async () => {
    for (const tree of [child, parent]) {
      tree.write('/one', Buffer.from('same'))
      tree.makeDirectory('/made')
      tree.remove('/two')
    }
    child.write('/made/inside', Buffer.from('x'))
    expect(await merge()).toEqual({ applied: ['added /made/inside'], conflicts: [] })
  })

  it('never brings the identity of a sandbox into another', async () => {
    child.write('/etc/hostname', Buffer.from('child'))
    child.makeDirectory('/.hearth-merge-0')
    expect((await merge()).applied).toEqual([])
    expect(text('/etc/hostname')).toBe('base')
  })

  it('is refused when the parent changes a file meanwhile, or has no room', async () => {
    child.write('/one', Buffer.from('child'))
    child.write('/two', Buffer.from('child'))
    const late = merge({
      apply: async (operations) => {
        const { modifiedMs } = parent.get('/two', 'stat')
        parent.write('/two', Buffer.from('late'))
        parent.setModified('/two', modifiedMs + 1)
        await applyToTree(parent, operations)
      },
    })
    await expect(late).rejects.toMatchObject({ code: 'conflict' })
    expect([text('/one'), text('/two')]).toEqual(['base', 'late'])
    child.write('/big', Buffer.alloc(9900))
    parent.write('/mine', Buffer.alloc(5000))
    await expect(merge({ paths: ['one', 'big'] })).rejects.toMatchObject({ code: 'disk_full' })
    expect(text('/one')).toBe('base')
  })

  it('takes nothing from a child that was not asked for', async () => {
    child.write('/one', Buffer.from('child'))
    const honest = state(child)
    const answers = (change: (part: StreamPart) => StreamPart[]): RootState => ({
      changesSince: (...since) => honest.changesSince(...since),
      present: (...paths) => honest.present(...paths),
      async *read(...paths) {
        for await (const part of honest.read(...paths)) yield* change(part)
      },
      [Symbol.asyncDispose]: async () => undefined,
    })
    const record = (part: StreamPart, rest: object): StreamPart =>
      part.kind === 'record' ? { ...part, record: { ...part.record, ...rest } } : part
    const lies: [string, (part: StreamPart) => StreamPart[]][] = [
      ['protocol_violation', (part) => [record(part, { path: 'etc/passwd' })]],
      ['protocol_violation', (part) => [part, ...(part.kind === 'content' ? [] : [part])]],
      ['conflict', (part) => [record(part, { type: 'directory' })]],
      ['conflict', (part) => [record(part, { size: 3 })]],
      ['conflict', () => []],
    ]
    for (const [code, lie] of lies) {
      const error = await merge({ child: answers(lie) }).catch((caught: unknown) => caught)
      expect(HearthError.isInstance(error) && error.code).toBe(code)
      expect(text('/one')).toBe('base')
    }
  })
})
