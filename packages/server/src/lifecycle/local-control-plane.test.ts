import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { TestHome, NEVER, EVERYTHING, type TestServer } from './test-server.ts'

/** Nothing failed behind the scenes. */
function quiet(server: TestServer): void {
  expect(server.problems).toEqual([])
}

describe('a sandbox of the control plane', () => {
  it('is made, used, renewed, listed and deleted, and tells of it', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const caller = await server.caller()
    const made = await server.create({ ttlMs: 60_000, metadata: { purpose: 'test' } })
    expect(made).toMatchObject({ state: 'running', rung: 'process', metadata: { purpose: 'test' }, reason: null })
    expect(await server.run(made.id, 'echo hello')).toBe('hello\n')
    const renewed = await server.plane.renew(caller, made.id, 3_600_000)
    expect(Date.parse(renewed.expiresAt ?? '')).toBeGreaterThan(Date.now() + 3_500_000)
    expect(await server.plane.get(caller, made.id)).toEqual(renewed)
    const page = await server.plane.list(caller, { ...EVERYTHING, metadata: { purpose: 'test' } })
    expect(page).toEqual({ items: [renewed], next: null })
    await server.plane.delete(caller, made.id)
    await server.plane.delete(caller, made.id)
    await expect(server.plane.get(caller, made.id)).rejects.toMatchObject({ code: 'sandbox_not_found' })
    await expect(server.plane.use(caller, made.id)).rejects.toMatchObject({ code: 'sandbox_not_found' })
    expect(await server.events(made.id)).toEqual([
      'sandbox.created',
      'sandbox.running',
      'sandbox.renewed',
      'sandbox.deleted',
    ])
    expect([await home.directories(), await home.keepers()]).toEqual([[], []])
    quiet(server)
  })

  it('is stopped: nothing of it is left but what can be told', async () => {
    await using home = await TestHome.make()
    await using server = await home.start({ housekeeping: { endedMs: 0 } })
    const caller = await server.caller()
    const [running, paused] = [await server.create(), await server.create()]
    await server.plane.pause(caller, paused.id)
    for (const { id } of [running, paused]) {
      expect(await server.plane.stop(caller, id)).toMatchObject({ id, state: 'stopped', reason: 'request' })
      expect(await server.plane.stop(caller, id)).toMatchObject({ id, state: 'stopped', reason: 'request' })
      await expect(server.plane.use(caller, id)).rejects.toMatchObject({ code: 'sandbox_ended' })
      await expect(server.plane.resume(caller, id)).rejects.toMatchObject({ code: 'sandbox_ended' })
    }
    expect([await home.directories(), await home.keepers()]).toEqual([[], []])
    expect(await server.store.sandboxes.usage(caller.tenantId)).toMatchObject({ sandboxes: 0, diskBytes: 0 })
    expect(await server.events(running.id)).toEqual(['sandbox.created', 'sandbox.running', 'sandbox.stopped'])
    await server.plane.delete(caller, running.id)
    await expect(server.plane.stop(caller, running.id)).rejects.toMatchObject({ code: 'sandbox_not_found' })
    await server.plane.reconcile()
    expect(await server.states()).toEqual({})
    quiet(server)
  })

  it('is another tenant’s: nothing but not found', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const stranger = await server.caller('stranger')
    const { id } = await server.create()
    const refused = { code: 'sandbox_not_found', message: `there is no sandbox ${id}` }
    await expect(server.plane.get(stranger, id)).rejects.toMatchObject(refused)
    await expect(server.plane.use(stranger, id)).rejects.toMatchObject(refused)
    await expect(server.plane.renew(stranger, id, 60_000)).rejects.toMatchObject(refused)
    await expect(server.plane.pause(stranger, id)).rejects.toMatchObject(refused)
    await expect(server.plane.resume(stranger, id)).rejects.toMatchObject(refused)
    await expect(server.plane.stop(stranger, id)).rejects.toMatchObject(refused)
    await expect(server.plane.delete(stranger, id)).rejects.toMatchObject(refused)
    expect((await server.plane.list(stranger, EVERYTHING)).items).toEqual([])
    await server.plane.delete(await server.caller(), id)
    await expect(server.plane.delete(stranger, id)).rejects.toMatchObject(refused)
  })

  it('is refused when the request, the quota or the host say so, and leaves nothing', async () => {
    await using home = await TestHome.make()
    await using server = await home.start({ admission: { sandboxes: 2 } })
    const caller = await server.caller()
    const create = (request: object) => server.create(request)
    await expect(create({ idleAction: 'pause' })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(create({ persistent: true, ttlMs: 5000 })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(create({ nonsense: 1 })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(create({ rung: 'simulated', idleMs: 5000, idleAction: 'pause' })).rejects.toMatchObject({
      code: 'capability_unsupported',
    })
    await expect(create({ user: 'nobody-of-that-name' })).rejects.toMatchObject({ code: expect.any(String) })
    await expect(create({ template: 'no-such-template' })).rejects.toMatchObject({ code: 'template_not_found' })
    await server.store.tenants.setQuotas(caller.tenantId, { sandboxes: 1 })
    await create({})
    await expect(create({})).rejects.toMatchObject({ code: 'quota_exceeded' })
    await server.store.tenants.setQuotas(caller.tenantId, { sandboxes: 10 })
    await create({})
    const full = { code: 'host_full', retryable: true, context: { resource: 'sandboxes' } }
    await expect(create({})).rejects.toMatchObject(full)
    expect(Object.keys(await server.states())).toHaveLength(2)
    expect((await home.directories()).length).toBe(2)
    for (const id of Object.keys(await server.states())) await server.plane.delete(caller, id)
    quiet(server)
  })

  it('ends at its deadline, and says so for a while', async () => {
    await using home = await TestHome.make()
    await using server = await home.start({ housekeeping: { endedMs: 0 } })
    const caller = await server.caller()
    const { id } = await server.create({ ttlMs: 1000 })
    await sleep(1300)
    expect(await server.plane.get(caller, id)).toMatchObject({ state: 'stopped', reason: 'expired' })
    await expect(server.plane.use(caller, id)).rejects.toMatchObject({ code: 'sandbox_ended' })
    await expect(server.plane.renew(caller, id, 5000)).rejects.toMatchObject({ code: 'sandbox_ended' })
    expect([await home.directories(), await home.keepers()]).toEqual([[], []])
    await server.plane.reconcile()
    await expect(server.plane.get(caller, id)).rejects.toMatchObject({ code: 'sandbox_not_found' })
    expect(await server.events(id)).toEqual([
      'sandbox.created',
      'sandbox.running',
      'sandbox.expired',
      'sandbox.deleted',
    ])
    quiet(server)
  })

  it('is forgotten in the end: its row, its operations and its events, and so are keys that do not work any more', async () => {
    await using home = await TestHome.make()
    const keepNothing = {
      operationMs: -1,
      keyMs: -1,
      purgeMs: 0,
      events: { maximumPerSandbox: 1, maximumAgeMs: 3_600_000 },
    }
    await using server = await home.start({ housekeeping: keepNothing })
    const caller = await server.caller()
    const gone = await server.create({ rung: 'simulated' })
    const kept = await server.create({ rung: 'simulated' }, 'key')
    const { events } = await server.store.events.page({ sandboxId: gone.id })
    const operations = events.map(({ data }) => (data as { operation?: string }).operation ?? '')
    const { tenantId } = caller
    const [works, revoked] = await Promise.all(
      ['works', 'revoked'].map(
        async (name) => (await server.store.apiKeys.create({ tenantId, name, scopes: ['exec'] })).key.id,
      ),
    )
    await server.store.apiKeys.revoke(tenantId, revoked ?? '')
    await server.plane.delete(caller, gone.id)
    await server.plane.reconcile()
    expect(await server.store.apiKeys.find(tenantId, revoked ?? '')).toBeNull()
    expect(await server.store.apiKeys.find(tenantId, works ?? '')).toMatchObject({ revokedAt: null })
    for (const id of operations)
      await expect(server.store.operations.get(id)).rejects.toMatchObject({ code: 'not_found' })
    expect(await server.store.sandboxes.purge(Date.now() + 1000)).toBe(0)
    expect([await server.events(gone.id), await server.events(kept.id)]).toEqual([
      ['sandbox.deleted'],
      ['sandbox.running'],
    ])
    expect(await server.plane.get(caller, kept.id)).toMatchObject({ state: 'running' })
    quiet(server)
  })

  it('has no deadline when it is persistent', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const made = await server.create({ persistent: true })
    expect(made.expiresAt).toBeNull()
    await expect(server.plane.renew(await server.caller(), made.id, 5000)).rejects.toMatchObject({
      code: 'invalid_state',
    })
    await server.plane.reconcile()
    expect(await server.run(made.id, 'echo here')).toBe('here\n')
    await server.plane.delete(await server.caller(), made.id)
  })
})

describe('an idempotency key', () => {
  it('gives the same sandbox, at the same time and later, and refuses another request', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const [one, two, three] = await Promise.all([1, 2, 3].map(() => server.create({}, 'key')))
    expect([two?.id, three?.id]).toEqual([one?.id, one?.id])
    expect((await server.create({}, 'key')).id).toBe(one?.id)
    await expect(server.create({ ttlMs: 5000 }, 'key')).rejects.toMatchObject({ code: 'idempotency_conflict' })
    const stranger = await server.caller('stranger')
    const other = await server.plane.create(stranger, { rung: 'process' }, { idempotencyKey: 'key', signal: NEVER })
    expect(other.id).not.toBe(one?.id)
    expect(await home.keepers()).toHaveLength(2)
    await server.plane.delete(await server.caller(), one?.id ?? '')
    await expect(server.create({}, 'key')).rejects.toMatchObject({ code: 'sandbox_not_found' })
    await server.plane.delete(stranger, other.id)
    quiet(server)
  })

  it('answers a failure again', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const failed = server.create({ template: 'no-such-template' }, 'key')
    await expect(failed).rejects.toMatchObject({ code: 'template_not_found' })
    await expect(server.create({ template: 'no-such-template' }, 'key')).rejects.toMatchObject({
      code: 'template_not_found',
    })
    expect(await server.states()).toEqual({})
  })

  it('lets the create go on when its caller gives up, and without one it is undone', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const caller = await server.caller()
    const request = { rung: 'process' } as const
    // The rungs are known from here on.
    await server.plane.delete(caller, (await server.create()).id)
    for (const idempotencyKey of ['key', null]) {
      const abort = new AbortController()
      const given = server.plane.create(caller, request, { idempotencyKey, signal: abort.signal })
      setTimeout(() => abort.abort(), 3)
      await expect(given).rejects.toMatchObject({ code: 'aborted' })
    }
    const { id } = await server.create({}, 'key')
    expect(await server.states()).toEqual({ [id]: 'running' })
    expect(await home.directories()).toEqual([id])
    await server.plane.delete(caller, id)
    quiet(server)
  })
})

describe('many at once', () => {
  it('are made, used and deleted in parallel', { timeout: 60_000 }, async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const caller = await server.caller()
    const made = await Promise.all(Array.from({ length: 20 }, () => server.create()))
    expect(new Set(made.map(({ id }) => id)).size).toBe(20)
    const said = await Promise.all(made.map(({ id }, index) => server.run(id, `echo ${index}`)))
    expect(said).toEqual(made.map((_, index) => `${index}\n`))
    expect(await home.keepers()).toEqual(made.map(({ id }) => id).toSorted())
    await Promise.all(made.flatMap(({ id }) => [server.plane.delete(caller, id), server.plane.delete(caller, id)]))
    expect([await home.directories(), await home.keepers(), home.mounts()]).toEqual([[], [], []])
    quiet(server)
  })

  it('a sandbox is deleted while it is made', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const caller = await server.caller()
    const making = server.create({}, 'key')
    making.catch(() => undefined)
    let ids: string[] = []
    while (ids.length === 0) {
      await sleep(1)
      ids = Object.keys(await server.states())
    }
    await server.plane.delete(caller, ids[0] ?? '')
    await expect(making).rejects.toMatchObject({ code: 'aborted' })
    expect([await server.states(), await home.directories()]).toEqual([{}, []])
  })
})
