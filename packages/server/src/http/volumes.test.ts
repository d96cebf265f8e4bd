import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecResponse, ForkView, VolumeView } from '@hearth/contract'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await TestServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

const MiB = 1024 * 1024
const volume = (json: object = {}, key?: string): Promise<VolumeView> =>
  server.json('POST', '/v1/volumes', { json, status: 201, ...(key === undefined ? {} : { key }) })
const run = async (id: string, command: string): Promise<string> =>
  (await server.json<ExecResponse>('POST', `/v1/sandboxes/${id}/exec`, { json: { command } })).stdout
const remove = (id: string): Promise<null> => server.json('DELETE', `/v1/sandboxes/${id}`, { status: 204 })

describe('volumes', () => {
  it('outlive the sandboxes that have them', async () => {
    const made = await volume({ name: 'data', diskBytes: 32 * MiB })
    expect(made).toMatchObject({ name: 'data', lifetime: 'durable', diskBytes: 32 * MiB, sandbox: null })
    const first = await server.sandbox({ volumes: [{ volume: 'data', path: '/data' }] })
    expect(first.volumes).toEqual([{ volume: made.id, path: '/data', readOnly: false }])
    await run(first.id, 'echo kept >/data/kept')
    expect(await server.json('GET', '/v1/volumes/data')).toMatchObject({ id: made.id, sandbox: first.id })
    const reader = await server.sandbox({ volumes: [{ volume: made.id, path: '/there', readOnly: true }] })
    expect(await run(reader.id, 'cat /there/kept; touch /there/x 2>/dev/null || echo refused')).toBe('kept\nrefused\n')
    const asked = { rung: 'process', volumes: [{ volume: 'data', path: '/data' }] }
    const refused = await server.refusal('POST', '/v1/sandboxes', { json: asked })
    expect(refused).toMatchObject({ status: 409, code: 'volume_in_use' })
    expect(await server.refusal('DELETE', '/v1/volumes/data')).toMatchObject({ code: 'volume_in_use' })
    await remove(first.id)
    expect(await server.refusal('DELETE', '/v1/volumes/data')).toMatchObject({ code: 'volume_in_use' })
    await remove(reader.id)
    const second = await server.sandbox({ volumes: [{ volume: made.id, path: '/elsewhere' }] })
    expect(await run(second.id, 'cat /elsewhere/kept')).toBe('kept\n')
    await remove(second.id)
    await server.json('DELETE', '/v1/volumes/data', { status: 204 })
    expect(await server.refusal('GET', `/v1/volumes/${made.id}`)).toMatchObject({ code: 'volume_not_found' })
    const { items } = await server.json<{ items: { type: string }[] }>('GET', '/v1/events?limit=1000')
    const told = items.map(({ type }) => type).filter((type) => type.startsWith('volume.'))
    expect(told).toEqual(['volume.created', 'volume.removed'])
  })

  it('fork with their sandbox, and the copies go with the children', async () => {
    const made = await volume({ name: 'forked' })
    const shared = await volume()
    const mounts = [
      { volume: 'forked', path: '/data' },
      { volume: shared.id, path: '/shared', readOnly: true },
    ]
    const parent = await server.sandbox({ volumes: mounts })
    await run(parent.id, 'echo before >/data/file')
    const path = `/v1/sandboxes/${parent.id}/fork`
    const { children } = await server.json<ForkView>('POST', path, { json: { count: 2 }, status: 201 })
    const [one, other] = children
    expect(children.map((child) => child.volumes.map(({ readOnly }) => readOnly))).toEqual([
      [false, true],
      [false, true],
    ])
    expect(one?.volumes[1]?.volume).toBe(shared.id)
    await run(one?.id ?? '', 'echo changed >/data/file')
    expect([await run(other?.id ?? '', 'cat /data/file'), await run(parent.id, 'cat /data/file')]).toEqual([
      'before\n',
      'before\n',
    ])
    const own = await server.json<VolumeView>('GET', `/v1/volumes/${one?.volumes[0]?.volume}`)
    expect(own).toMatchObject({ name: null, lifetime: 'sandbox', sandbox: one?.id, diskBytes: made.diskBytes })
    await remove(one?.id ?? '')
    await server.json('POST', `/v1/sandboxes/${other?.id}/stop`)
    const { items } = await server.json<{ items: VolumeView[] }>('GET', '/v1/volumes')
    expect(items.map(({ id }) => id).toSorted()).toEqual([made.id, shared.id].toSorted())
    await remove(parent.id)
    for (const { id } of [made, shared]) await server.json('DELETE', `/v1/volumes/${id}`, { status: 204 })
    expect(await readdir(join(server.home, 'store/volumes'))).toEqual([])
  })

  it('are made once for one key, named once, and listed in pages', async () => {
    const headers = { 'idempotency-key': 'once' }
    const make = (json: object): Promise<VolumeView> =>
      server.json('POST', '/v1/volumes', { json, headers, status: 201 })
    const [one, same] = await Promise.all([make({ name: 'single' }), make({ name: 'single' })])
    expect(same.id).toBe(one.id)
    const other = await server.refusal('POST', '/v1/volumes', { json: { name: 'another' }, headers })
    expect(other.code).toBe('idempotency_conflict')
    const taken = await server.refusal('POST', '/v1/volumes', { json: { name: 'single' } })
    expect(taken).toMatchObject({ status: 409, code: 'conflict' })
    for (const json of [{ name: 'UPPER' }, { name: 'vol_x' }, { diskBytes: 1 }, { size: 1 }])
      expect(await server.refusal('POST', '/v1/volumes', { json })).toMatchObject({ code: 'invalid_request' })
    const more = [await volume(), await volume()]
    const first = await server.json<{ items: VolumeView[]; next: string }>('GET', '/v1/volumes?limit=2')
    const second = await server.json<{ items: VolumeView[]; next: null }>('GET', `/v1/volumes?cursor=${first.next}`)
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual([
      ...more.map(({ id }) => id).toReversed(),
      one.id,
    ])
    expect(second.next).toBeNull()
  })

  it('are found by their tenant alone, and count against its quotas', async () => {
    const mine = await volume({ name: 'mine' })
    const key = await server.newKey(['admin'], 'stranger')
    const tenant = await server.store.tenants.findByName('stranger')
    await server.store.tenants.setQuotas(tenant?.id ?? '', { volumes: 2, diskBytes: 64 * 1024 * MiB })
    for (const name of ['mine', mine.id]) {
      for (const method of ['GET', 'DELETE'])
        expect(await server.refusal(method, `/v1/volumes/${name}`, { key })).toMatchObject({ status: 404 })
      const json = { rung: 'process', volumes: [{ volume: name, path: '/data' }] }
      const refused = await server.refusal('POST', '/v1/sandboxes', { json, key })
      expect(refused).toMatchObject({ status: 404, code: 'volume_not_found' })
    }
    expect(await server.json('GET', '/v1/volumes', { key })).toEqual({ items: [], next: null })
    const large = { json: { diskBytes: 100 * 1024 * MiB }, key }
    expect(await server.refusal('POST', '/v1/volumes', large)).toMatchObject({ code: 'quota_exceeded' })
    await volume({ name: 'mine' }, key)
    const parent = await server.sandbox({ volumes: [{ volume: 'mine', path: '/data' }] }, key)
    const fork = { json: { count: 2 }, key }
    const refused = await server.refusal('POST', `/v1/sandboxes/${parent.id}/fork`, fork)
    expect(refused).toMatchObject({ code: 'quota_exceeded', message: expect.stringContaining('volumes') })
    await server.json('DELETE', `/v1/sandboxes/${parent.id}`, { status: 204, key })
    await server.json('DELETE', '/v1/volumes/mine', { status: 204 })
  })

  it('refuse places that are not theirs, and the same volume twice', async () => {
    const { id } = await volume({ name: 'placed' })
    const refusedFor = async (volumes: object[]): Promise<string> =>
      (await server.refusal('POST', '/v1/sandboxes', { json: { rung: 'process', volumes } })).code
    expect(await refusedFor([{ volume: id, path: '/usr/lib' }])).toBe('invalid_request')
    expect(await refusedFor([{ volume: id, path: 'data' }])).toBe('invalid_request')
    expect(await refusedFor([1, 2, 3, 4, 5].map((at) => ({ volume: id, path: `/d${at}` })))).toBe('invalid_request')
    const twice = [
      { volume: id, path: '/one' },
      { volume: 'placed', path: '/two' },
    ]
    expect(await refusedFor(twice)).toBe('invalid_request')
    expect(await server.json('GET', '/v1/volumes/placed')).toMatchObject({ sandbox: null })
  })

  it('are reported when their files are gone, and found again', async () => {
    const { id } = await volume({ name: 'missing' })
    const directory = join(server.home, 'store/volumes', id)
    await rename(directory, join(server.home, 'aside'))
    await server.plane.reconcile()
    await server.plane.reconcile()
    expect(server.problems.filter((problem) => problem.includes(id))).toHaveLength(1)
    const json = { rung: 'process', volumes: [{ volume: 'missing', path: '/data' }] }
    expect(await server.refusal('POST', '/v1/sandboxes', { json })).toMatchObject({ code: 'volume_not_found' })
    await rename(join(server.home, 'aside'), directory)
    await server.plane.reconcile()
    await remove((await server.sandbox({ volumes: [{ volume: 'missing', path: '/data' }] })).id)
    await server.json('DELETE', '/v1/volumes/missing', { status: 204 })
  })
})
