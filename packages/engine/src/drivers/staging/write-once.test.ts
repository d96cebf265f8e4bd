import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { makeOnce, writeOnce } from './write-once.ts'

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-once-'))
})
afterEach(async () => await rm(directory, { recursive: true, force: true }))

it('makes a directory once although many want it at the same time, and leaves nothing beside it', async () => {
  const path = join(directory, 'below', 'made')
  const make = async (temporary: string): Promise<void> => {
    await mkdir(temporary)
    await writeFile(join(temporary, 'content'), 'whole')
  }
  await Promise.all(Array.from({ length: 20 }, () => makeOnce(path, make)))
  expect(await readdir(join(directory, 'below'))).toEqual(['made'])
  expect(await readFile(join(path, 'content'), 'utf8')).toBe('whole')
})

it('leaves nothing behind when making fails, and can be tried again', async () => {
  const path = join(directory, 'made')
  const fail = async (temporary: string): Promise<void> => {
    await writeFile(temporary, 'half')
    throw new Error('no')
  }
  await expect(makeOnce(path, fail)).rejects.toThrow('no')
  expect(await readdir(directory)).toEqual([])
  await writeOnce(path, 'whole')
  expect(await readFile(path, 'utf8')).toBe('whole')
})
