import { lstat, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TAR_END, tarHeader, tarPadding, type TarHeader } from '@hearth/engine/tar'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CopyProgress } from './copy-progress.ts'
import { unpackBelow } from './unpack.ts'

type Entry = Partial<TarHeader> & { readonly path: string; readonly content?: string }

let base: string
let root: string
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'hearth-unpack-'))
  root = join(base, 'root')
  await mkdir(root)
  await writeFile(join(base, 'victim'), 'untouched')
})
afterEach(async () => {
  const victim = await readFile(join(base, 'victim'), 'utf8')
  const beside = (await readdir(base)).toSorted().join(' ')
  await rm(base, { recursive: true })
  if (victim !== 'untouched' || beside !== 'root victim') throw new Error(`${beside}: something was written outside`)
})

async function unpack(entries: readonly Entry[], mostBytes = 1_000_000): Promise<CopyProgress> {
  const progress = new CopyProgress(true)
  const parts = entries.flatMap(({ content = '', ...entry }) => {
    const defaults = { type: 'file', target: '', mode: 0o644, uid: 0, gid: 0, modifiedMs: 0 } as const
    const bytes = Buffer.from(content)
    return [tarHeader({ ...defaults, ...entry, size: bytes.length }), bytes, tarPadding(bytes.length)]
  })
  await unpackBelow(root, pieces(Buffer.concat([...parts, TAR_END])), mostBytes, progress)
  return progress
}

async function* pieces(bytes: Buffer): AsyncGenerator<Uint8Array, void> {
  for (let start = 0; start < bytes.length; start += 700) yield bytes.subarray(start, start + 700)
}

describe('an archive that wants out', () => {
  it.each<[string, Entry[]]>([
    ['by a name', [{ path: '../victim', content: 'evil' }]],
    ['by a hidden name', [{ path: 'a/../../victim', content: 'evil' }]],
    ['by an absolute name', [{ path: '/tmp/hearth-victim', content: 'evil' }]],
    ['by a hard link', [{ path: 'hard', type: 'hardlink', target: '../victim' }]],
    [
      'through a link of its own',
      [
        { path: 'real/', type: 'directory' },
        { path: 'link', type: 'symlink', target: 'real' },
        { path: 'link/file', content: 'evil' },
      ],
    ],
    [
      'by a hard link through a link',
      [
        { path: 'real/', type: 'directory' },
        { path: 'real/file', content: 'x' },
        { path: 'link', type: 'symlink', target: 'real' },
        { path: 'hard', type: 'hardlink', target: 'link/file' },
      ],
    ],
  ])('%s is refused', async (_, entries) => {
    await expect(unpack(entries)).rejects.toMatchObject({ code: 'file_failed' })
  })

  it.each(['/etc/passwd', '..', '../victim', 'a/..', 'a/../../victim', 'deep/../..'])(
    'a link to %s is left out',
    async (target) => {
      const { summary } = await unpack([
        { path: 'deep/', type: 'directory' },
        { path: 'link', type: 'symlink', target },
      ])
      expect(summary.leftOut).toMatchObject([{ path: 'link' }])
      expect(await readdir(root)).toEqual(['deep'])
    },
  )

  it('a link that was here is not followed, and a file that was one is replaced', async () => {
    await symlink(base, join(root, 'out'))
    await expect(unpack([{ path: 'out/victim', content: 'evil' }])).rejects.toMatchObject({ code: 'file_failed' })
    await symlink(join(base, 'victim'), join(root, 'file'))
    await unpack([{ path: 'file', content: 'new' }])
    expect((await lstat(join(root, 'file'))).isFile()).toBe(true)
  })
})

it('keeps links that stay, several names of one file, and modes without setuid', async () => {
  await unpack([
    { path: './', type: 'directory' },
    { path: './a/b/', type: 'directory', mode: 0o500 },
    { path: './a/b/file', content: 'text', mode: 0o6755 },
    { path: './a/b/link', type: 'symlink', target: '../../top' },
    { path: './top', type: 'hardlink', target: 'a/b/file' },
  ])
  expect(await readFile(join(root, 'a/b/link'), 'utf8')).toBe('text')
  expect((await lstat(join(root, 'top'))).mode & 0o7777).toBe(0o755)
  expect((await lstat(join(root, 'top'))).nlink).toBe(2)
})

it('leaves devices and pipes out, and stops at its bound', async () => {
  const { summary } = await unpack([
    { path: 'null', type: 'device' },
    { path: 'pipe', type: 'fifo' },
  ])
  expect(summary.leftOut).toHaveLength(2)
  await expect(unpack([{ path: 'large', content: 'x'.repeat(2000) }], 1000)).rejects.toMatchObject({
    code: 'file_failed',
    message: expect.stringMatching(/more than 1000 bytes/),
  })
})
