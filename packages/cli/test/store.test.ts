import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newSnapshotId } from '@hearth/contract'
import { expect, it } from 'vitest'
import { HearthCommand } from './hearth-command.ts'

it("shows what fills the store, finds what is damaged, and frees what is nobody's", async () => {
  await using hearth = await HearthCommand.create()
  expect(await hearth.json(['store', 'df', '--json'])).toMatchObject({
    kind: 'directory',
    snapshots: { count: 0, bytes: 0 },
  })
  const half = newSnapshotId()
  const damaged = newSnapshotId()
  for (const id of [half, damaged]) await mkdir(join(hearth.home, 'store', 'snapshots', id), { recursive: true })
  await writeFile(join(hearth.home, 'store', 'snapshots', half, 'draft'), '4194305 1')
  expect(await hearth.json(['store', 'check', '--json'])).toEqual({
    snapshots: 0,
    sealed: [],
    problems: [{ kind: 'orphan', id: half, problem: 'it was never finished' }],
  })
  expect((await hearth.run(['store', 'gc', '-q'])).stdout).toBe(`${half}\n`)
  await writeFile(join(hearth.home, 'store', 'snapshots', damaged, 'manifest.json'), '{}')
  expect((await hearth.run(['store', 'gc', '-q'])).stdout).toBe('')
  const check = await hearth.run(['store', 'check'])
  expect([check.code, check.stdout]).toEqual([
    1,
    expect.stringMatching(new RegExp(`${damaged} +damaged +the manifest`)),
  ])
})
