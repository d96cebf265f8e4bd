import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { serverKey } from './index.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-keys-'))
})
afterAll(() => rm(directory, { recursive: true }))

it('makes a key once, for the owner alone, however many start at once', async () => {
  const path = join(directory, 'secret-key')
  const keys = await Promise.all([1, 2, 3].map(() => serverKey(path, '')))
  expect(new Set(keys.map((key) => Buffer.from(key).toString('hex'))).size).toBe(1)
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(Buffer.from(await serverKey(path, ''))).toEqual(Buffer.from(keys[0] ?? []))
  await writeFile(path, 'short')
  await expect(serverKey(path, '')).rejects.toMatchObject({ code: 'secret_unreadable' })
})

it('takes the key of the environment first, and repeats none that is wrong', async () => {
  const key = Buffer.alloc(32, 7)
  const path = join(directory, 'never-made')
  for (const text of [key.toString('hex'), key.toString('base64'), key.toString('base64url')]) {
    expect(Buffer.from(await serverKey(path, text))).toEqual(key)
  }
  await expect(serverKey(path, 'not a key')).rejects.toThrow(
    expect.objectContaining({ code: 'invalid_request', message: expect.not.stringContaining('not a key') as unknown }),
  )
  await expect(stat(path)).rejects.toThrow('ENOENT')
})
