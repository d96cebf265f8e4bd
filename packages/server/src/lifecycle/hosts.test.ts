import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PostgresCluster, whyNoPostgres } from '@hearth/testing/store'
import { TestHome } from './test-server.ts'

const reason = await whyNoPostgres()
let cluster: PostgresCluster | null = null

beforeAll(async () => {
  if (reason === null) cluster = await PostgresCluster.start()
}, 120_000)

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]()
}, 60_000)

describe.skipIf(reason !== null)(`two hosts on one Postgres${reason === null ? '' : `: ${reason}`}`, () => {
  it('see each other’s sandboxes and leave them alone', { timeout: 60_000 }, async () => {
    const database = await newDatabase()
    await using firstHome = await TestHome.make()
    await using secondHome = await TestHome.make()
    await using first = await firstHome.start({ database })
    await using second = await secondHome.start({ database })
    const here = await first.create()
    const there = await second.create()
    expect(await first.states()).toEqual({ [here.id]: 'running', [there.id]: 'running' })
    await expect(first.plane.use(await first.caller(), there.id)).rejects.toMatchObject({ code: 'conflict' })
    const { tenantId } = await first.caller()
    const record = await second.store.sandboxes.get(there.id)
    const claim = { owner: String(record.hostId), leaseMs: 1 }
    const { operation } = await second.store.operations.begin({ tenantId, kind: 'pause', sandboxId: record.id, claim })
    await first.plane.reconcile()
    // Its lease has run out, and yet it is not for this host to take.
    expect(await first.store.operations.get(operation.id)).toMatchObject({ state: 'running', owner: record.hostId })
    expect(await second.run(there.id, 'echo untouched')).toBe('untouched\n')
    await Promise.all([
      first.plane.delete(await first.caller(), here.id),
      second.plane.delete(await second.caller(), there.id),
    ])
    expect([await firstHome.keepers(), await secondHome.keepers()]).toEqual([[], []])
    expect([first.problems, second.problems]).toEqual([[], []])
  })

  it('a sandbox outlives a restart of its server', { timeout: 60_000 }, async () => {
    const database = await newDatabase()
    await using home = await TestHome.make()
    const before = await home.start({ database })
    const { id } = await before.create({}, 'key')
    await before.plane.pause(await before.caller(), id)
    await before.plane.close()
    await using after = await home.start({ database })
    expect((await after.create({}, 'key')).id).toBe(id)
    expect(await after.run(id, 'echo awake')).toBe('awake\n')
    await after.plane.delete(await after.caller(), id)
    expect(after.problems).toEqual([])
  })
})

describe.skipIf(reason !== null)(`a host that is not heard of${reason === null ? '' : `: ${reason}`}`, () => {
  const silentMs = 700

  it('has no sandboxes past their deadline, and its others can be deleted', { timeout: 60_000 }, async () => {
    const database = await newDatabase()
    await using firstHome = await TestHome.make()
    await using secondHome = await TestHome.make()
    await using first = await firstHome.start({ database, silentMs, housekeeping: { endedMs: 60_000 } })
    const second = await secondHome.start({ database })
    const [short, long, kept] = [
      await second.create({ ttlMs: 2000 }),
      await second.create(),
      await second.create({ persistent: true }),
    ]
    const caller = await first.caller()
    await second.plane.reconcile()
    await expect(first.plane.delete(caller, long.id)).rejects.toMatchObject({ code: 'conflict' })
    await second.plane.close()
    await new Promise((resolve) => setTimeout(resolve, 2500))
    await first.plane.reconcile()
    expect(await first.states()).toEqual({ [short.id]: 'stopped', [long.id]: 'running', [kept.id]: 'running' })
    expect(await first.plane.get(caller, short.id)).toMatchObject({ reason: 'gone: its host is gone' })
    expect(await first.store.sandboxes.usage(caller.tenantId)).toMatchObject({ sandboxes: 2 })
    await first.plane.delete(caller, long.id)
    await first.plane.delete(caller, kept.id)
    expect(await first.states()).toEqual({ [short.id]: 'stopped' })
    expect((await first.events(long.id)).at(-1)).toBe('sandbox.deleted')
    // What they left behind goes when the host returns.
    expect(await secondHome.directories()).toContain(long.id)
    await using again = await secondHome.start({ database })
    await again.plane.reconcile()
    expect([await secondHome.keepers(), await secondHome.directories()]).toEqual([[], []])
    expect([first.problems, again.problems]).toEqual([[], []])
  })

  it('ends what others wrote off when it is heard of again', { timeout: 60_000 }, async () => {
    const database = await newDatabase()
    await using firstHome = await TestHome.make()
    await using secondHome = await TestHome.make()
    await using first = await firstHome.start({ database, silentMs })
    await using second = await secondHome.start({ database, silentMs })
    const [away, stays] = [await second.create(), await second.create()]
    await new Promise((resolve) => setTimeout(resolve, silentMs + 100))
    await first.plane.delete(await first.caller(), away.id)
    expect(await second.run(stays.id, 'echo here')).toBe('here\n')
    await second.plane.reconcile()
    expect(await secondHome.keepers()).toEqual([stays.id])
    await expect(second.run(away.id, 'true')).rejects.toMatchObject({ code: 'sandbox_not_found' })
    expect(await second.run(stays.id, 'echo here')).toBe('here\n')
    expect([first.problems, second.problems]).toEqual([[], []])
  })
})

async function newDatabase(): Promise<string> {
  if (cluster === null) throw new Error('no Postgres was started')
  const { url, admin, create } = cluster.newDatabase()
  const client = new Client({ connectionString: admin })
  await client.connect()
  await client.query(create)
  await client.end()
  return url
}
