import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { Hearth } from './hearth.ts'

const SPEC = { rung: 'process', template: 'host' } as const

function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'hearth-open-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  return home
}

it('a home that could not be opened is opened by the next call', async () => {
  const home = newHome()
  const sandboxes = join(home, 'sandboxes')
  await writeFile(sandboxes, 'no directory')
  await using hearth = new Hearth({ home, spareKeepers: 0 })
  await expect(hearth.create(SPEC)).rejects.toThrow('ENOTDIR')
  await rm(sandboxes)
  await using sandbox = await hearth.create(SPEC)
  expect((await sandbox.exec('echo works')).stdout).toBe('works\n')
})

it('a home that cannot be opened hides no error behind that of its end', async () => {
  const home = newHome()
  await writeFile(join(home, 'sandboxes'), 'no directory')
  const used = async (): Promise<void> => {
    await using hearth = new Hearth({ home, spareKeepers: 0 })
    await hearth.create(SPEC)
  }
  await expect(used()).rejects.toThrow('ENOTDIR')
})

it('a rung works where there is no room to note that it does', async () => {
  const home = newHome()
  const problems: string[] = []
  await mkdir(join(home, 'cache'))
  await writeFile(join(home, 'cache/probes'), 'no directory')
  await using hearth = new Hearth({ home, spareKeepers: 0, onProblem: (what) => void problems.push(what) })
  await using sandbox = await hearth.create(SPEC)
  expect((await sandbox.exec('echo works')).stdout).toBe('works\n')
  expect(problems).toContain('noting what bubblewrap can do here')
})
