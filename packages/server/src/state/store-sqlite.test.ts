import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { describeStore, type TestDatabase } from '@hearth/testing/store'
import { createWithinQuota, openStore } from './index.ts'

async function open(): Promise<TestDatabase & { readonly path: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'hearth-state-'))
  const path = join(directory, 'deeper', 'hearth.db')
  return {
    path,
    connect: (sources = {}) => openStore({ url: `sqlite:${path}`, sources }),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  }
}

describeStore({ name: 'SQLite', open, createWithinQuota })

it('keeps the database and its journal to the owner', async () => {
  await using database = await open()
  await using store = await database.connect()
  await store.tenants.create({ name: 'a' })
  for (const suffix of ['', '-wal', '-shm']) expect((await stat(database.path + suffix)).mode & 0o777).toBe(0o600)
})

it('refuses a url that it does not know without repeating it', async () => {
  await expect(openStore({ url: 'mysql://root:secret@localhost/x' })).rejects.toThrow(
    expect.objectContaining({ code: 'invalid_request', message: expect.not.stringContaining('secret') }),
  )
})
