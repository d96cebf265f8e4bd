import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test, vi } from 'vitest'
import { SqliteCheckpoints } from './sqlite-checkpoints.ts'

test('what was committed reaches the database without a commit that does it', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'hearth-checkpoints-'))
  const path = join(directory, 'some.db')
  using database = new DatabaseSync(path)
  database.exec('pragma journal_mode = wal; pragma wal_autocheckpoint = 0; create table numbers (value integer)')
  const checkpoints = new SqliteCheckpoints(path, (error) => expect.unreachable(error.message), 20)
  try {
    for (const value of [1, 2]) {
      database.exec(`insert into numbers values (${value})`)
      await vi.waitFor(async () => expect(await countWithoutJournal(path)).toBe(value), { timeout: 10_000 })
    }
  } finally {
    checkpoints.stop()
    await rm(directory, { recursive: true })
  }
})

test('what keeps it from happening is told, and it is tried again', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'hearth-checkpoints-'))
  const path = join(directory, 'some.db')
  await mkdir(path)
  await writeFile(`${path}-wal`, 'a journal')
  const told: Error[] = []
  const checkpoints = new SqliteCheckpoints(path, (error) => void told.push(error), 20)
  try {
    await vi.waitFor(() => expect(told.length).toBeGreaterThan(0), { timeout: 10_000 })
    await writeFile(`${path}-wal`, 'a longer journal')
    await vi.waitFor(() => expect(told.length).toBeGreaterThan(1), { timeout: 10_000 })
  } finally {
    checkpoints.stop()
    await rm(directory, { recursive: true })
  }
})

async function countWithoutJournal(path: string): Promise<unknown> {
  const copy = `${path}.copy`
  await copyFile(path, copy)
  using database = new DatabaseSync(copy)
  return database.prepare('select count(*) as count from numbers').get()?.['count']
}
