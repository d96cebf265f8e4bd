import type { SandboxInfo } from '@hearth/contract'
import { describeFork, describeHibernation } from '@hearth/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { ApiProcess } from './support/api-process.ts'

/** What a client sees of forks is the same code on every rung: once is enough. `fork.test.ts` has them all, without the server. */
const RUNG = 'process'

const server = await ApiProcess.start()
const hearth = server.client()
const reports = await server.client({ timeoutMs: 180_000 }).rungs()
const report = reports.find(({ rung, probe }) => rung === RUNG && probe.available)

async function list(): Promise<SandboxInfo[]> {
  const infos: SandboxInfo[] = []
  for await (const { id } of hearth.list()) infos.push((await hearth.get(id)).info)
  return infos
}

if (report?.probe.available === true) {
  describeFork({
    name: `${RUNG} over HTTP (${report.probe.label})`,
    create: async (spec = {}) =>
      await hearth.create(spec.from === undefined ? { rung: RUNG, template: 'host', ...spec } : spec),
    capabilities: { ...report.probe.capabilities, memory: false },
    pythonTemplate: 'host',
    list,
    snapshots: hearth.snapshots,
  })

  describeHibernation({
    name: `${RUNG} asleep over HTTP`,
    create: async (spec = {}) => await hearth.create({ rung: RUNG, template: 'host', ...spec }),
    capabilities: { ...report.probe.capabilities, memory: false },
    wake: async (id) => {
      const sandbox = await hearth.get(id)
      await sandbox.wake()
      return sandbox
    },
    list,
  })

  describe('forks over HTTP', () => {
    test('are compared, merged and seen as a tree', async () => {
      await using parent = await hearth.create({ rung: RUNG })
      await parent.files.write('/tmp/shared', 'base')
      const { children } = await parent.fork(2)
      const [left, right] = children
      if (left === undefined || right === undefined) throw new Error('there are fewer than two')
      await left.files.write('/tmp/shared', 'left')
      await left.files.write('/tmp/dot.ted', new Uint8Array([0, 255]))
      const changes = await left.diff({ contentBytes: 10, paths: ['/tmp/shared', '/tmp/dot.ted'] })
      expect(changes.map(({ path, change, content }) => [path, change, [...(content ?? [])]])).toEqual([
        ['/tmp/dot.ted', 'added', [0, 255]],
        ['/tmp/shared', 'changed', [...Buffer.from('left')]],
      ])
      expect(await parent.merge(left, { paths: ['/tmp/shared'] })).toMatchObject({
        applied: [{ path: '/tmp/shared', change: 'changed' }],
        conflicts: [],
      })
      expect(await parent.files.readText('/tmp/shared')).toBe('left')
      await left.kill()
      await expect(parent.merge(left)).rejects.toMatchObject({ code: 'sandbox_not_found' })
      expect((await parent.tree()).map(({ id, parent: of }) => [id, of])).toEqual([
        [parent.id, null],
        [right.id, parent.id],
      ])
      await right.kill()
    })

    test('go to another host as snapshots in one file', async () => {
      await using sandbox = await hearth.create({ rung: RUNG })
      await sandbox.files.write('/tmp/file', 'carried')
      const taken = await sandbox.snapshot({ name: 'out.1' })
      const brought = await hearth.snapshots.import(await hearth.snapshots.export('out.1'), { name: 'in.1' })
      expect(brought.id).not.toBe(taken.id)
      {
        await using copy = await hearth.create({ from: 'in.1' })
        expect(await copy.files.readText('/tmp/file')).toBe('carried')
      }
      await expect(hearth.snapshots.import(new Uint8Array(100))).rejects.toMatchObject({ code: 'snapshot_corrupt' })
      await expect(hearth.snapshots.get('../keys')).rejects.toMatchObject({ code: 'invalid_request' })
      for (const { id } of await hearth.snapshots.list()) await hearth.snapshots.remove(id)
      expect(await hearth.snapshots.list()).toEqual([])
    })
  })
} else {
  describe(RUNG, () => {
    test('is available', (context) => context.skip('it does not run here'))
  })
}

afterAll(async () => await server[Symbol.asyncDispose](), 120_000)
