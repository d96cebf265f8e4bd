import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { bakedDirectory, collectBaked, writeOrigin } from './baked-store.ts'

let store: string
let part: (name: string) => string

beforeEach(async () => {
  store = await mkdtemp(join(tmpdir(), 'hearth-baked-'))
  part = (name) => join(store, name)
  await mkdir(part('root'))
  for (const name of ['guest', 'kernel', 'qemu']) await writeFile(part(name), name)
})
afterEach(() => rm(store, { recursive: true, force: true }))

async function bake(name: string, files: readonly string[], usedMs = Date.now()): Promise<void> {
  const directory = join(bakedDirectory(store), name)
  await mkdir(directory, { recursive: true })
  await writeOrigin(directory, part('root'), files.map(part))
  await utimes(directory, usedMs / 1000, usedMs / 1000)
}

it.each(['guest', 'kernel', 'qemu'])('removes what was baked with another %s', async (changed) => {
  await bake('old', [changed])
  await bake(
    'current',
    ['guest', 'kernel', 'qemu'].filter((name) => name !== changed),
  )
  await writeFile(part(changed), 'a later one')
  expect(await collectBaked(store, 9)).toEqual(['old'])
  expect(await readdir(bakedDirectory(store))).toEqual(['current'])
})

it('removes what was baked of a template that is gone, and of nobody knows what', async () => {
  await bake('one', [])
  await mkdir(join(bakedDirectory(store), 'unknown'))
  expect(await collectBaked(store, 9)).toEqual(['unknown'])
  await rm(part('root'), { recursive: true })
  expect(await collectBaked(store, 9)).toEqual(['one'])
})

it('keeps those that were used last, and one that is being made', async () => {
  await bake('first', [], 1000)
  await bake('second', [], 3000)
  await bake('third', [], 2000)
  await bake('fourth.draft', [], 0)
  expect(await collectBaked(store, 2)).toEqual(['first'])
  expect((await readdir(bakedDirectory(store))).toSorted()).toEqual(['fourth.draft', 'second', 'third'])
})

it('removes one whose maker has died', async () => {
  await bake('half.draft', [])
  const dead = { root: part('root'), files: [], maker: { pid: process.pid, startTime: '1' } }
  await writeFile(join(bakedDirectory(store), 'half.draft', 'origin'), JSON.stringify(dead))
  expect(await collectBaked(store, 9)).toEqual(['half.draft'])
})
