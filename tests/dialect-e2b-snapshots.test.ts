import { Sandbox, Template } from 'e2b'
import { afterAll, describe, expect, test } from 'vitest'
import { json } from './support/e2b-raw.ts'
import { E2bServer, type Reply } from './support/e2b-server.ts'

const server = await E2bServer.start()
const sandbox = await Sandbox.create('host', { metadata: { 'hearth.rung': 'process' } })
afterAll(() => server[Symbol.asyncDispose]())

async function take(value: string, name?: string): Promise<{ snapshotId: string; names: string[] }> {
  await sandbox.files.write('/tmp/v', value)
  return await sandbox.createSnapshot(name === undefined ? {} : { name })
}

async function value(template: string): Promise<string> {
  const made = await Sandbox.create(template)
  try {
    return await made.files.read('/tmp/v')
  } finally {
    await made.kill()
  }
}

async function listed(name: string): Promise<string[]> {
  return (await Sandbox.listSnapshots({ name }).nextItems()).map(({ snapshotId }) => snapshotId)
}

async function remove(template: string): Promise<Reply> {
  const path = `/templates/${encodeURIComponent(template)}`
  return await server.raw({ method: 'DELETE', path, headers: { 'x-api-key': server.key } })
}

describe('the name of a snapshot', () => {
  test('moves to the newer one, and the older one stays under its identifier', async () => {
    const first = await take('first', 'moving')
    expect(first.names).toEqual(['moving'])
    const second = await take('second', 'team/moving')
    expect(second.names).toEqual(['moving'])
    expect([await value('moving'), await value('team/moving:default')]).toEqual(['second', 'second'])
    expect(await value(first.snapshotId)).toBe('first')
    expect((await server.native.snapshots.get('moving')).id).toBe(second.snapshotId)
    expect(await listed('moving')).toEqual([second.snapshotId])
    expect(await Sandbox.deleteSnapshot('moving')).toBe(true)
    expect(await Sandbox.deleteSnapshot('moving')).toBe(false)
    await expect(Sandbox.create('moving')).rejects.toThrow(/not found|no template/)
    expect(await Sandbox.deleteSnapshot(first.snapshotId)).toBe(true)
  })

  test('may have tags, each for a snapshot of its own', async () => {
    const stable = await take('stable', 'tagged')
    const next = await take('next', 'tagged:v2.0')
    expect(next.names).toEqual(['tagged:v2.0'])
    expect([await value('tagged'), await value('tagged:v2.0')]).toEqual(['stable', 'next'])
    await expect(Sandbox.create('tagged:v3')).rejects.toThrow(/tag 'v3' does not exist/)
    expect((await listed('tagged')).toSorted()).toEqual([stable.snapshotId, next.snapshotId].toSorted())
    expect(await listed('tagged:v2.0')).toEqual([next.snapshotId])
    await Template.assignTags('tagged:v2.0', ['default'])
    expect(await value('tagged')).toBe('next')
    // No name leads to the first one any more: it has no name, and is there.
    expect(await value(stable.snapshotId)).toBe('stable')
    expect((await server.native.snapshots.get(stable.snapshotId)).name).toBeNull()
    expect((await remove('tagged:v2.0')).status).toBe(204)
    expect(await value('tagged')).toBe('next')
    expect((await remove('team/tagged')).status).toBe(204)
    expect(json(await remove('tagged'))).toMatchObject({ code: 404 })
    await expect(server.native.snapshots.get(next.snapshotId)).rejects.toMatchObject({ code: 'snapshot_not_found' })
  })

  test('is taken over from the native API, and is free again when that removes it', async () => {
    const native = await server.native.get(sandbox.sandboxId.replace(/^sb/, 'sb_'))
    const before = await native.snapshot({ name: 'shared' })
    const { snapshotId } = await take('shared', 'shared')
    expect((await server.native.snapshots.get('shared')).id).toBe(snapshotId)
    expect((await server.native.snapshots.get(before.id)).name).toBeNull()
    await server.native.snapshots.remove(snapshotId)
    await expect(Sandbox.create('shared')).rejects.toThrow(/not found|no template/)
    expect(await listed('shared')).toEqual([])
    expect((await take('anew', 'shared')).names).toEqual(['shared'])
    expect(await value('shared')).toBe('anew')
  })

  test('stays while a sandbox of its snapshot lives', async () => {
    await take('used', 'used')
    const made = await Sandbox.create('used')
    expect(json(await remove('used'))).toMatchObject({ code: 409 })
    expect(await listed('used')).toHaveLength(1)
    await made.kill()
    expect((await remove('used')).status).toBe(204)
  })

  test('that is none leaves nothing', async () => {
    const count = async (): Promise<number> => (await server.native.snapshots.list()).length
    const before = await count()
    await expect(take('bad', 'Bad Name')).rejects.toThrow(/no name of a template/)
    await expect(take('bad', 'sn_00000000000000000000')).rejects.toThrow(/400/)
    expect(await count()).toBe(before)
  })
})
