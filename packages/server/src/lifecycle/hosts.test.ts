import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PostgresCluster, whyNoPostgres } from '@hearth/testing/store'
import { TestHome } from './test-server.ts'

const reason = await whyNoPostgres()

describe.skipIf(reason !== null)(`two hosts on one Postgres${reason === null ? '' : `: ${reason}`}`, () => {
  let cluster: PostgresCluster

  beforeAll(async () => {
    cluster = await PostgresCluster.start()
  }, 120_000)

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]()
  }, 60_000)

  it('see each other’s sandboxes and leave them alone', { timeout: 60_000 }, async () => {
    const database = await newDatabase(cluster)
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
    const database = await newDatabase(cluster)
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

async function newDatabase(cluster: PostgresCluster): Promise<string> {
  const { url, admin, create } = cluster.newDatabase()
  const client = new Client({ connectionString: admin })
  await client.connect()
  await client.query(create)
  await client.end()
  return url
}
