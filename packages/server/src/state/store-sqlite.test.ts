import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { DEFAULT_QUOTAS } from '@hearth/contract'
import { describeStore, type TestDatabase } from '@hearth/testing/store'
import { createWithinQuota, deriveKeys, openStore } from './index.ts'
import { describeProcesses } from './processes/describe-processes.ts'

async function open(): Promise<TestDatabase & { readonly path: string; readonly url: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'hearth-state-'))
  const path = join(directory, 'deeper', 'hearth.db')
  const url = `sqlite:${path}`
  return {
    path,
    url,
    connect: (sources = {}, key) =>
      openStore({ url, sources, ...(key === undefined ? {} : { keys: deriveKeys(key) }) }),
    execute: async (statement) => {
      using database = new DatabaseSync(path)
      database.exec(statement)
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  }
}

describeStore({ name: 'SQLite', open, createWithinQuota })

describeProcesses({ open, verify: expectIntact })

async function expectIntact(url: string): Promise<void> {
  using database = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true })
  expect(database.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  expect(database.prepare('pragma foreign_key_check').all()).toEqual([])
}

it('keeps the database and its journal to the owner', async () => {
  await using database = await open()
  await using store = await database.connect()
  await store.tenants.create({ name: 'a' })
  for (const suffix of ['', '-wal', '-shm']) expect((await stat(database.path + suffix)).mode & 0o777).toBe(0o600)
})

it('brings a database of before snapshots up to date', async () => {
  await using database = await open()
  {
    await using store = await database.connect()
    await store.tenants.create({ name: 'old' })
  }
  using before = new DatabaseSync(database.path)
  before.exec(`drop index sandboxes_by_origin_id; alter table sandboxes drop column origin_id;
    alter table sandboxes drop column hibernation; alter table sandboxes drop column restored;
    drop index snapshots_by_tenant_id_name; drop index snapshots_by_host_id_state;
    alter table snapshots drop column name; alter table snapshots drop column state; alter table snapshots drop column host_id;
    delete from kysely_migration where name > '002';
    create table templates (name text);
    drop table volumes; drop table webhooks; drop table template_builds; drop table sandbox_notes;
    drop table workspaces; drop table seeds; drop table repositories; drop table ssh_host_keys;
    drop table runs; drop table run_labels; drop table run_events; drop table run_messages;
    drop index api_keys_by_sandbox_id; drop index sandboxes_by_holder; alter table sandboxes drop column holder;
    alter table api_keys drop column granted; alter table api_keys drop column path; alter table api_keys drop column sandbox_id;
    drop table secrets; drop table event_chains; alter table events drop column hash;
    alter table event_drops drop column hash; alter table event_drops drop column chained;
    update tenants set quotas = '{"sandboxes":3}'`)
  before.close()
  await using store = await database.connect()
  const tenant = await store.tenants.findByName('old')
  expect(tenant?.quotas).toEqual({ ...DEFAULT_QUOTAS, sandboxes: 3 })
  expect(await store.sandboxes.list({ tenantId: tenant?.id ?? '' })).toEqual({ items: [], next: null })
  expect(await store.snapshots.list(tenant?.id ?? '', { limit: 1 })).toEqual({ items: [], next: null })
})

it('refuses a url that it does not know without repeating it', async () => {
  await expect(openStore({ url: 'mysql://root:secret@localhost/x' })).rejects.toThrow(
    expect.objectContaining({ code: 'invalid_request', message: expect.not.stringContaining('secret') }),
  )
})

it('waits for another writer without blocking, and says so when it waited too long', { timeout: 30_000 }, async () => {
  await using database = await open()
  await using store = await database.connect()
  using other = new DatabaseSync(database.path)
  other.exec('begin immediate')
  let turns = 0
  const timer = setInterval(() => turns++, 5)
  const late = store.tenants.create({ name: 'late' })
  setTimeout(() => other.exec('commit'), 300)
  await late
  clearInterval(timer)
  expect(turns).toBeGreaterThan(10)
  other.exec('begin immediate')
  const refused = await store.tenants.create({ name: 'never' }).catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: 'store_unavailable', retryable: true })
  // Reading goes on all the while.
  expect((await store.tenants.list()).items).toHaveLength(1)
  other.exec('rollback')
})

it('refuses a database of a newer version', async () => {
  await using database = await open()
  await (await database.connect()).close()
  {
    using direct = new DatabaseSync(database.path)
    direct.exec("insert into kysely_migration (name, timestamp) values ('999-future', '2030-01-01T00:00:00.000Z')")
  }
  await expect(database.connect()).rejects.toMatchObject({
    code: 'internal',
    suggestion: expect.stringContaining('newer'),
  })
})

it('says why a file cannot be the database', async () => {
  await using database = await open()
  await expect(openStore({ url: 'sqlite:/dev/null/hearth.db' })).rejects.toMatchObject({ code: 'store_unavailable' })
  await mkdir(dirname(database.path), { recursive: true })
  await writeFile(database.path, 'not a database'.repeat(1000))
  await expect(database.connect()).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringContaining('not a database'),
  })
})
