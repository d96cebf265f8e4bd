import { execFileSync } from 'node:child_process'
import { mkdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newSandboxId, newSnapshotId } from '@hearth/contract'
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

it.runIf(process.getuid?.() === 0)('says what it could not remove, removes the rest, and ends with 1', async () => {
  await using hearth = await HearthCommand.create()
  const stuck = newSandboxId()
  const gone = newSandboxId()
  const areas = join(hearth.home, 'store', 'areas')
  const leave = async (): Promise<void> => {
    for (const id of [stuck, gone]) {
      await mkdir(join(areas, id), { recursive: true })
      await utimes(join(areas, id), 1, 1)
    }
  }
  await leave()
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(areas, stuck)])
  using end = new DisposableStack()
  end.defer(() => execFileSync('umount', [join(areas, stuck)]))
  await utimes(join(areas, stuck), 1, 1)
  const plain = await hearth.run(['store', 'gc', '-q'])
  expect([plain.code, plain.stdout]).toEqual([1, `${gone}\n`])
  expect(plain.stderr.match(new RegExp(`^sweeping area ${stuck} failed: .`, 'gm'))).toHaveLength(1)
  await leave()
  const { code, stdout } = await hearth.run(['store', 'gc', '--json'])
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({
    areas: [gone],
    problems: expect.arrayContaining([
      { what: `sweeping area ${stuck}`, problem: expect.stringMatching(/./) as unknown },
    ]) as unknown,
  })
})
