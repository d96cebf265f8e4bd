import { DEFAULT_LIMITS, newSandboxId, newSnapshotId } from '@hearth/contract'
import { expect, it } from 'vitest'
import type { SnapshotManifest, StoredSnapshot } from '../store/snapshot-manifest.ts'
import { describeFrom, restoredFrom } from './create-from.ts'

const id = newSnapshotId()

/** What was taken of a sandbox with one volume, with its processes. */
function taken(manifest: Partial<SnapshotManifest> = {}): StoredSnapshot {
  const info = {
    id,
    name: null,
    sandbox: newSandboxId(),
    parent: null,
    rung: 'gvisor',
    driver: 'runsc',
    template: 'host',
    createdAt: new Date(),
    memory: true,
    diskBytes: 0,
    memoryBytes: 1,
    metadata: {},
    limits: DEFAULT_LIMITS,
  } as const
  return {
    id,
    directory: '/nowhere',
    manifest: {
      version: 1,
      kind: 'snapshot',
      info,
      templateDigest: '',
      hostTools: null,
      disk: { kind: 'subvolume' },
      memory: { runtime: 'runsc', bytes: 1, facts: {} },
      interpreters: [],
      configuration: { hostname: 'it', environment: {}, workdir: '/', user: 'user' },
      volumes: [{ path: '/data', readOnly: false, copy: null }],
      ...manifest,
    },
  }
}

it('says whether processes go on in a sandbox that is made of a snapshot, and why not', () => {
  const outcome = (snapshot: StoredSnapshot, spec: Parameters<typeof describeFrom>[1]): unknown =>
    restoredFrom(describeFrom(snapshot, spec).from)
  const there = [{ volume: 'vl_00000000000000000000', path: '/data', readOnly: false }] as never
  expect(outcome(taken(), { volumes: there })).toEqual({ memory: true, reason: null })
  const elsewhere = 'its processes had volumes at /data alone'
  expect(outcome(taken(), {})).toEqual({ memory: false, reason: elsewhere })
  expect(() => describeFrom(taken(), { memory: 'required' })).toThrow(elsewhere)
  expect(outcome(taken({ volumes: [] }), { volumes: there })).toEqual({
    memory: false,
    reason: 'its processes had no volumes',
  })
  expect(outcome(taken(), { volumes: there, memory: 'none' })).toEqual({
    memory: false,
    reason: 'files alone were asked for',
  })
  const files = `snapshot ${id} has files only`
  expect(outcome(taken({ memory: null }), {})).toEqual({ memory: false, reason: files })
  expect(restoredFrom(null)).toBeNull()
})
