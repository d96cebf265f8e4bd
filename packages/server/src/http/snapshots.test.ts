import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  BOUNDS,
  type FileChangeView,
  type ForkView,
  type LineageView,
  type MergeView,
  type SnapshotView,
} from '@hearth/contract'
import { documentedOperations, fillPath } from './testing/document.ts'
import { TestServer, type CallOptions } from './testing/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await TestServer.start({ uploadBytes: 4 * 1024 * 1024 })
})
afterAll(() => server[Symbol.asyncDispose]())

const rung = 'simulated'

async function run(id: string, command: string): Promise<string> {
  return (await server.json<{ stdout: string }>('POST', `/v1/sandboxes/${id}/exec`, { json: { command } })).stdout
}

function snapshot(id: string, json: object = {}, options: CallOptions = {}): Promise<SnapshotView> {
  return server.json('POST', `/v1/sandboxes/${id}/snapshots`, { json, status: 201, ...options })
}

function fork(id: string, json: object, options: CallOptions = {}): Promise<ForkView> {
  return server.json('POST', `/v1/sandboxes/${id}/fork`, { json, status: 201, ...options })
}

async function tenant(name: string, quotas: object): Promise<{ key: string }> {
  const made = await server.json<{ id: string }>('POST', '/v1/tenants', { json: { name, quotas }, status: 201 })
  return await server.json('POST', `/v1/tenants/${made.id}/keys`, { json: { name: 'k' }, status: 201 })
}

describe('snapshots', () => {
  it('are found by identifier and name, and are the start of sandboxes', async () => {
    const { id } = await server.sandbox({ rung })
    await run(id, 'echo here > /tmp/file')
    const taken = await snapshot(id, { name: 'base.one', metadata: { a: 'b' } })
    expect(taken).toMatchObject({ name: 'base.one', sandbox: id, parent: null, rung, metadata: { a: 'b' } })
    expect(await server.json('GET', '/v1/snapshots/base.one')).toEqual(taken)
    expect(await server.json('GET', `/v1/snapshots/${taken.id}`)).toEqual(taken)
    const listed = await server.json<{ items: SnapshotView[] }>('GET', '/v1/snapshots?limit=1')
    expect(listed).toEqual({ items: [taken], next: null })
    const copy = await server.json<{ id: string; origin: string }>('POST', '/v1/sandboxes', {
      json: { from: 'base.one' },
      status: 201,
    })
    expect([copy.origin, await run(copy.id, 'cat /tmp/file')]).toEqual([taken.id, 'here\n'])
    expect(await server.refusal('DELETE', '/v1/snapshots/base.one')).toMatchObject({ code: 'snapshot_in_use' })
    await server.json('DELETE', `/v1/sandboxes/${copy.id}`, { status: 204 })
    await server.json('DELETE', '/v1/snapshots/base.one', { status: 204 })
    expect(await server.refusal('GET', '/v1/snapshots/base.one')).toMatchObject({ status: 404 })
    expect(await server.refusal('POST', '/v1/sandboxes', { json: { from: taken.id } })).toMatchObject({
      code: 'snapshot_not_found',
    })
    const { items } = await server.json<{ items: { type: string }[] }>('GET', `/v1/events?sandbox=${id}`)
    const told = items.map(({ type }) => type).filter((type) => type.startsWith('snapshot.'))
    expect(told).toEqual(['snapshot.created', 'snapshot.removed'])
  })

  it('are nobody else’s: every call with one of another tenant is not found', async () => {
    const { id } = await server.sandbox({ rung })
    const taken = await snapshot(id, { name: 'mine' })
    const key = await server.newKey(['admin'], 'stranger')
    const operations = (await documentedOperations(server)).filter(({ path }) => path.includes('/snapshots/{snapshot}'))
    expect(operations.length).toBe(3)
    for (const name of [taken.id, 'mine', 'sn_00000000000000000000', '%00', '..%2f']) {
      for (const operation of operations) {
        const path = fillPath(operation.path, { snapshot: name })
        expect(await server.refusal(operation.method, path, { key }), `${operation.id} ${name}`).toMatchObject({
          status: 404,
          code: 'snapshot_not_found',
        })
      }
    }
    const own = await server.sandbox({ rung }, key)
    const attempts: [string, string, CallOptions, string][] = [
      ['POST', '/v1/sandboxes', { json: { from: 'mine' } }, 'snapshot_not_found'],
      ['POST', '/v1/sandboxes', { json: { from: taken.id } }, 'snapshot_not_found'],
      ['GET', `/v1/sandboxes/${own.id}/diff?since=${taken.id}`, {}, 'snapshot_not_found'],
      ['POST', `/v1/sandboxes/${own.id}/merge`, { json: { child: id } }, 'sandbox_not_found'],
    ]
    for (const [method, path, options, code] of attempts)
      expect(await server.refusal(method, path, { ...options, key }), path).toMatchObject({ status: 404, code })
    expect(await server.json('GET', '/v1/snapshots', { key })).toEqual({ items: [], next: null })
    const theirs = await snapshot(own.id, { name: 'mine' }, { key })
    expect(theirs.id).not.toBe(taken.id)
    expect(await server.json('GET', '/v1/snapshots/mine')).toEqual(taken)
  })

  it('go out and in as one file; what is too large, damaged or beyond the quota leaves nothing', async () => {
    const { id } = await server.sandbox({ rung })
    await run(id, 'echo carried > /tmp/file')
    await snapshot(id, { name: 'out' })
    const exported = await server.call('GET', '/v1/snapshots/out/export')
    const archive = new Uint8Array(await exported.arrayBuffer())
    const before = await server.json<{ items: SnapshotView[] }>('GET', '/v1/snapshots')
    const refused = async (body: Uint8Array<ArrayBuffer>, key = server.key): Promise<string> =>
      (await server.refusal('POST', '/v1/snapshots/import?name=in', { body, key })).code
    expect(await refused(new Uint8Array(5 * 1024 * 1024))).toBe('body_too_large')
    expect(await refused(archive.slice(0, -700))).toBe('snapshot_corrupt')
    expect(await refused(archive.map((byte, index) => (index === archive.length - 2000 ? byte ^ 1 : byte)))).toBe(
      'snapshot_corrupt',
    )
    const poor = await tenant('poor', { snapshots: 0 })
    expect(await refused(archive, poor.key)).toBe('quota_exceeded')
    expect(await server.json('GET', '/v1/snapshots')).toEqual(before)
    const brought = await server.json<SnapshotView>('POST', '/v1/snapshots/import?name=in', {
      body: archive,
      status: 201,
    })
    expect(brought).toMatchObject({ name: 'in', parent: null, rung })
    const copy = await server.json<{ id: string }>('POST', '/v1/sandboxes', { json: { from: 'in' }, status: 201 })
    expect(await run(copy.id, 'cat /tmp/file')).toBe('carried\n')
  })

  it('count against quotas with what they may take, and with their name', async () => {
    const { key } = await tenant('bounded', { snapshots: 1 })
    const { id } = await server.sandbox({ rung }, key)
    const take = (name: string): Promise<{ code: string }> =>
      server.refusal('POST', `/v1/sandboxes/${id}/snapshots`, { json: { name }, key })
    await snapshot(id, { name: 'first' }, { key })
    expect((await take('second')).code).toBe('quota_exceeded')
    await server.json('DELETE', '/v1/snapshots/first', { key, status: 204 })
    await snapshot(id, { name: 'second' }, { key })
    const disk = await tenant('full', { diskBytes: 2 * 1024 ** 3 })
    const full = await server.sandbox({ rung }, disk.key)
    expect(
      await server.refusal('POST', `/v1/sandboxes/${full.id}/snapshots`, { json: {}, key: disk.key }),
    ).toMatchObject({ status: 429, code: 'quota_exceeded' })
  })
})

describe('forks', () => {
  it('are all there or none, within the quota and the bound', async () => {
    const { key } = await tenant('forking', { sandboxes: 4 })
    const parent = await server.sandbox({ rung, metadata: { kind: 'base' }, ttlMs: 120_000 }, key)
    const refused = (json: object): Promise<{ code: string }> =>
      server.refusal('POST', `/v1/sandboxes/${parent.id}/fork`, { json, key })
    expect((await refused({ count: 4 })).code).toBe('quota_exceeded')
    expect((await refused({ count: BOUNDS.children + 1 })).code).toBe('invalid_request')
    expect((await refused({ count: 1, each: [{}, {}] })).code).toBe('invalid_request')
    expect((await refused({ count: 1, memory: 'required' })).code).toBe('memory_unsupported')
    const alone = await server.json<{ items: unknown[] }>('GET', '/v1/sandboxes', { key })
    expect(alone.items.length).toBe(1)
    const { children, memory, reason } = await fork(parent.id, { count: 3, each: [{ metadata: { n: '0' } }] }, { key })
    expect([memory, typeof reason]).toEqual([false, 'string'])
    expect(children.map(({ metadata, expiresAt }) => ({ metadata, expiresAt }))).toEqual([
      { metadata: { kind: 'base', n: '0' }, expiresAt: parent.expiresAt },
      { metadata: { kind: 'base' }, expiresAt: parent.expiresAt },
      { metadata: { kind: 'base' }, expiresAt: parent.expiresAt },
    ])
    expect((await refused({ count: 1 })).code).toBe('quota_exceeded')
  })

  it('are the same for the same key, and never persistent by inheritance', async () => {
    const { id } = await server.sandbox({ rung, persistent: true })
    const options = { headers: { 'idempotency-key': 'fork-once' } }
    const [first, second] = await Promise.all([fork(id, { count: 2 }, options), fork(id, { count: 2 }, options)])
    expect(second).toEqual(first)
    expect(first.children.every(({ expiresAt }) => expiresAt !== null)).toBe(true)
    const other = await server.refusal('POST', `/v1/sandboxes/${id}/fork`, { json: { count: 1 }, ...options })
    expect(other.code).toBe('idempotency_conflict')
    const once = { headers: { 'idempotency-key': 'snapshot-once' } }
    expect(await snapshot(id, {}, once)).toEqual(await snapshot(id, {}, once))
  })

  it('say what they changed, are merged back, and are seen as a tree', async () => {
    const { id } = await server.sandbox({ rung })
    await run(id, 'echo base > /tmp/shared')
    const { children } = await fork(id, { count: 2 })
    const [left = '', right = ''] = children.map((child) => child.id)
    await run(left, 'echo left > /tmp/shared; echo new > /tmp/added')
    await run(right, 'echo right > /tmp/shared')
    const query = 'contentBytes=100&path=/tmp/shared&path=/tmp/added'
    const { items } = await server.json<{ items: FileChangeView[] }>('GET', `/v1/sandboxes/${left}/diff?${query}`)
    const content = (text: string): string => Buffer.from(text).toString('base64')
    expect(items.map(({ path, change, content: found }) => [path, change, found])).toEqual([
      ['/tmp/added', 'added', content('new\n')],
      ['/tmp/shared', 'changed', content('left\n')],
    ])
    const merge = (child: string): Promise<MergeView> =>
      server.json('POST', `/v1/sandboxes/${id}/merge`, { json: { child } })
    expect((await merge(left)).applied.map(({ path }) => path)).toEqual(['/tmp/added', '/tmp/shared'])
    const second = await merge(right)
    expect([second.applied, second.conflicts.map(({ path }) => path)]).toEqual([[], ['/tmp/shared']])
    expect(await run(id, 'cat /tmp/shared /tmp/added')).toBe('left\nnew\n')
    expect(await server.refusal('POST', `/v1/sandboxes/${left}/merge`, { json: { child: right } })).toMatchObject({
      code: 'invalid_request',
    })
    expect(await server.refusal('POST', `/v1/sandboxes/${id}/merge`, { json: { child: id } })).toMatchObject({
      code: 'invalid_request',
    })
    await server.json('DELETE', `/v1/sandboxes/${left}`, { status: 204 })
    const tree = await server.json<{ items: LineageView[] }>('GET', `/v1/sandboxes/${right}/tree`)
    expect(tree.items.map(({ id: node, parent }) => [node, parent])).toEqual([
      [id, null],
      [right, id],
    ])
  })
})
