import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readTar } from '@hearth/engine/tar'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { CopyProgress } from './copy-progress.ts'
import { packDirectory } from './pack.ts'

let root: string
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'hearth-pack-'))))
afterEach(() => rmSync(root, { recursive: true }))

const LIMITS = { entries: 1000, totalBytes: 1e9, pathBytes: 4096 }

async function pack(onEntry: (path: string) => void = () => undefined) {
  using progress = new CopyProgress(true)
  const found: Record<string, string> = {}
  for await (const entry of readTar(packDirectory(root, progress), LIMITS)) {
    const content = entry.header.type === 'file' ? Buffer.from(await entry.bytes()).toString() : entry.header.type
    found[entry.header.path] = content
    onEntry(entry.header.path)
  }
  return { found, leftOut: progress.summary.leftOut.map(({ path }) => path) }
}

it('leaves out what has no name in UTF-8, and keeps everything else', async () => {
  writeFileSync(join(root, 'a'), 'content')
  writeFileSync(Buffer.concat([Buffer.from(`${root}/b`), Buffer.from([0xff])]), 'x')
  symlinkSync('a', join(root, 'c'))
  expect(await pack()).toEqual({ found: { a: 'content', c: 'symlink' }, leftOut: ['b\ufffd'] })
})

it('goes on when what it copies is removed, replaced or changed meanwhile', async () => {
  const large = 'x'.repeat(3_000_000)
  writeFileSync(join(root, 'a'), large)
  mkdirSync(join(root, 'b'))
  writeFileSync(join(root, 'b', 'gone'), 'x')
  writeFileSync(join(root, 'c'), 'x')
  writeFileSync(join(root, 'd'), 'grows')
  const { found, leftOut } = await pack((path) => {
    if (path !== 'a') return
    rmSync(join(root, 'b'), { recursive: true })
    rmSync(join(root, 'c'))
    appendFileSync(join(root, 'd'), '!')
  })
  expect([found['a'], found['d']]).toEqual([large, 'grows!'])
  expect(leftOut).toEqual(['b', 'c'])
  expect(readFileSync(join(root, 'd'), 'utf8')).toBe('grows!')
})
