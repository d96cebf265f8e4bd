import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { snapshotIdSchema, type FileChange } from '@hearth/contract'
import { Hearth, type EmbeddedSandbox } from '@hearth/engine'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ladder, templateFor } from './support/ladder.ts'

const hearth = new Hearth()
afterAll(async () => await hearth.dispose(), 120_000)

function summary(changes: readonly FileChange[]): string[] {
  return changes.map(({ change, type, path }) => `${change} ${type} ${path}`)
}

async function child(parent: EmbeddedSandbox): Promise<EmbeddedSandbox> {
  const { children } = await parent.fork(1, { memory: 'none' })
  const [made] = children
  if (made === undefined) throw new Error('a fork without a child')
  return made
}

/** The same of every rung: what changed in a fork is found, and brought back. */
function describeMerge(name: string, create: () => Promise<EmbeddedSandbox>, processes: boolean): void {
  describe(`diff and merge: ${name}`, () => {
    let parent: EmbeddedSandbox
    let made: EmbeddedSandbox | null = null

    beforeAll(async () => {
      made = parent = await create()
      await parent.files.write('/tmp/work/edited', 'before')
      await parent.files.write('/tmp/work/gone', 'x')
      await parent.files.write('/tmp/work/both', 'x')
      await parent.files.write('/tmp/work/dir/deep', 'x')
    })
    afterAll(async () => await made?.kill())

    test('a fork differs from its origin by what was done in it, and is merged whole or not at all', async () => {
      await using fork = await child(parent)
      expect(await fork.diff()).toEqual([])
      await fork.files.write('/tmp/work/edited', 'after')
      await fork.files.remove('/tmp/work/gone')
      await fork.files.remove('/tmp/work/dir', { recursive: true })
      await fork.files.write('/tmp/work/new/file', 'fresh', { mode: 0o755 })
      await fork.files.symlink('file', '/tmp/work/new/link')
      const expected = [
        'removed directory /tmp/work/dir',
        'changed file /tmp/work/edited',
        'removed file /tmp/work/gone',
        'added directory /tmp/work/new',
        'added file /tmp/work/new/file',
        'added symlink /tmp/work/new/link',
      ]
      const changes = await fork.diff({ contentBytes: 100 })
      expect(summary(changes)).toEqual(expected)
      expect(Buffer.from(changes[4]?.content ?? []).toString()).toBe('fresh')
      const all = summary(await fork.diff({ since: 'template', paths: ['/tmp/work'] }))
      expect(all).toContain('added file /tmp/work/edited')
      expect(all).not.toContain('added file /tmp/work/gone')

      await fork.files.write('/tmp/work/both', 'child')
      await parent.files.write('/tmp/work/both', 'parent')
      await parent.files.write('/tmp/work/mine', 'parent')
      const refused = await parent.merge(fork)
      expect(refused).toMatchObject({ applied: [], conflicts: [{ path: '/tmp/work/both' }] })
      expect(await parent.files.readText('/tmp/work/edited')).toBe('before')

      await fork.files.write('/tmp/work/both', 'parent')
      const { applied, conflicts } = await parent.merge(fork)
      expect(conflicts).toEqual([])
      expect(summary(applied)).toEqual(expected)
      expect(await parent.files.readText('/tmp/work/edited')).toBe('after')
      expect(await parent.files.readText('/tmp/work/mine')).toBe('parent')
      expect(await parent.files.stat('/tmp/work/new/file')).toMatchObject({ mode: 0o755, size: 5 })
      expect(await parent.files.stat('/tmp/work/new/link', { followSymlinks: false })).toMatchObject({ target: 'file' })
      expect(await parent.files.exists('/tmp/work/dir')).toBe(false)
      expect((await parent.files.list('/')).filter(({ name: file }) => file.startsWith('.hearth-merge'))).toEqual([])
      expect(await parent.merge(fork)).toEqual({ applied: [], conflicts: [] })
      await expect(fork.merge(parent)).rejects.toMatchObject({ code: 'invalid_request' })
      const since = snapshotIdSchema.parse('sn_00000000000000000000')
      await expect(parent.diff({ since })).rejects.toMatchObject({ code: 'snapshot_not_found' })
    })

    test.runIf(processes)('what lies in the template is found changed and gone, and merged', async () => {
      await using fork = await child(parent)
      const done = await fork.exec('rm -r /etc/skel && echo hello > /etc/motd && chmod 600 /etc/issue', {
        user: 'root',
      })
      expect(done.exitCode).toBe(0)
      const expected = ['changed file /etc/issue', 'changed file /etc/motd', 'removed directory /etc/skel']
      expect(summary(await fork.diff())).toEqual(expected)
      expect(summary((await parent.merge(fork, { paths: ['/etc'] })).applied)).toEqual(expected)
      expect(await parent.files.readText('/etc/motd')).toBe('hello\n')
      expect(await parent.files.exists('/etc/skel')).toBe(false)
      expect((await parent.files.stat('/etc/issue')).mode).toBe(0o600)
    })
  })
}

for (const { rung, probe } of await ladder(hearth)) {
  if (!probe.available || !probe.capabilities.snapshots) {
    describe(`diff and merge: ${rung}`, () => {
      const reason = probe.available ? `${probe.label} has no snapshots` : probe.reason
      test('has snapshots', (context) => context.skip(reason))
    })
    continue
  }
  // Where a root of its own costs nothing, so that there is something to change in it.
  const template = rung === 'container' ? 'debian' : templateFor(probe)
  describeMerge(rung, async () => await hearth.create({ rung, template }), template !== 'host')
}

describe('on a store that copies', () => {
  let copying: Hearth | null = null
  describeMerge(
    'process',
    async () => {
      copying = new Hearth({ home: await mkdtemp(join(tmpdir(), 'hearth-merge-')), spareKeepers: 0 })
      return await copying.create({ rung: 'process', template: 'host' })
    },
    false,
  )
  afterAll(async () => {
    await copying?.dispose()
    if (copying !== null) await rm(copying.paths.home, { recursive: true, force: true })
  })
})
