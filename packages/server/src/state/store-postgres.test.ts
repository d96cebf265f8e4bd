import { Client } from 'pg'
import { afterAll, beforeAll, describe } from 'vitest'
import { describeStore, PostgresCluster, whyNoPostgres, type TestDatabase } from '@hearth/testing/store'
import { createWithinQuota, openStore } from './index.ts'

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
})

async function openDatabase(cluster: PostgresCluster): Promise<TestDatabase> {
  const { url, admin, create } = cluster.newDatabase()
  const client = new Client({ connectionString: admin })
  await client.connect()
  await client.query(create)
  await client.end()
  return {
    connect: (sources = {}) => openStore({ url, sources }),
    // The cluster goes as a whole.
    [Symbol.asyncDispose]: async () => undefined,
  }
}
