import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { describeStore, PostgresCluster, whyNoPostgres, type TestDatabase } from '@hearth/testing/store'
import { createWithinQuota, deriveKeys, openStore } from './index.ts'
import { describeProcesses } from './processes/describe-processes.ts'

const reason = await whyNoPostgres()

describe.skipIf(reason !== null)(`Postgres${reason === null ? '' : `: ${reason}`}`, () => {
  let cluster: PostgresCluster

  beforeAll(async () => {
    cluster = await PostgresCluster.start()
  }, 120_000)

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]()
  }, 60_000)

  describeStore({ name: 'Postgres', open: () => openDatabase(cluster), createWithinQuota })

  describeProcesses({ open: () => openDatabase(cluster) })

  it('goes on after all its connections were cut, also those that listen', { timeout: 30_000 }, async () => {
    await using database = await openDatabase(cluster)
    const broken: Error[] = []
    await using store = await openStore({ url: database.url, onConnectionError: (error) => broken.push(error) })
    await using other = await openStore({ url: database.url })
    const events = store.events.follow({ pollMs: 60_000 })
    const first = events.next()
    await other.events.append({ tenantId: 'a', type: 'one' })
    expect(await first).toMatchObject({ value: { events: [{ type: 'one' }] } })
    const second = events.next()
    await cutConnections(database.url)
    await vi.waitFor(() => expect(broken.length).toBeGreaterThan(0), 10_000)
    await vi.waitFor(() => other.events.append({ tenantId: 'a', type: 'two' }), 10_000)
    // The poll is far away: the new connection that listens has brought it.
    expect(await second).toMatchObject({ value: { events: [{ type: 'two' }] } })
    await events.return(undefined)
  })

  it('says so when the connection of a transaction is cut between two of its queries', async () => {
    await using database = await openDatabase(cluster)
    await using store = await openStore({ url: database.url })
    const cut = store.transaction(async (session) => {
      await session.events.append({ tenantId: 'a', type: 'one' })
      await cutConnections(database.url)
      // What tells of the end of the connection comes while nothing is asked.
      await sleep(100)
      await session.events.append({ tenantId: 'a', type: 'two' })
    })
    await expect(cut).rejects.toMatchObject({ code: 'store_unavailable', retryable: true })
    await vi.waitFor(() => store.events.append({ tenantId: 'a', type: 'three' }), 10_000)
  })

  it('says that the database is not there, without the password', async () => {
    const url = cluster.newDatabase().url.replace('hearth@', 'hearth:hidden@')
    const missing = await openStore({ url }).catch((error: unknown) => error)
    expect(JSON.stringify(missing)).not.toContain('hidden')
    expect(missing).toMatchObject({ code: 'store_unavailable', message: expect.stringContaining('does not exist') })
    const refused = await openStore({ url: 'postgres://hearth:hidden@127.0.0.1:1/none' }).catch(
      (error: unknown) => error,
    )
    expect(refused).toMatchObject({ code: 'store_unavailable', retryable: true })
    expect(JSON.stringify(refused)).not.toContain('hidden')
  })
})

async function openDatabase(cluster: PostgresCluster): Promise<TestDatabase & { readonly url: string }> {
  const { url, admin, create } = cluster.newDatabase()
  await execute(admin, create)
  return {
    url,
    connect: (sources = {}, key) =>
      openStore({ url, sources, ...(key === undefined ? {} : { keys: deriveKeys(key) }) }),
    execute: (statement) => execute(url, statement),
    // The cluster goes as a whole.
    [Symbol.asyncDispose]: async () => undefined,
  }
}

async function cutConnections(url: string): Promise<void> {
  await execute(
    url,
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(statement)
  await client.end()
}
