import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { baseImage, baseImageIdentity, measure } from './base-image.ts'
import { makeUpperDisk } from './upper-disk.ts'

const directory = mkdtempSync(join(tmpdir(), 'hearth-disks-'))
const cache = join(directory, 'cache')
const root = join(directory, 'root')
mkdirSync(join(root, 'etc'), { recursive: true })
writeFileSync(join(root, 'etc/hostname'), 'box\n')
symlinkSync('etc/hostname', join(root, 'name'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const asRoot = process.getuid?.() === 0

function template(digest: string, of = root): Parameters<typeof baseImage>[1] {
  return {
    kind: 'directory',
    name: 'test',
    digest: `sha256:${digest}`,
    root: of,
    environment: {},
    workdir: null,
    user: null,
  }
}

function debugfs(image: string, request: string): string {
  return execFileSync('debugfs', ['-R', request, image], { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' })
}

describe('baseImage', () => {
  test('holds the files of the root, owned by root, in a clean file system', async () => {
    const lines: string[] = []
    const image = await baseImage(cache, template('1'), asRoot, (line) => lines.push(line))
    execFileSync('e2fsck', ['-fn', image], { stdio: 'ignore' })
    expect(debugfs(image, 'cat /etc/hostname')).toBe('box\n')
    expect(debugfs(image, 'stat /etc/hostname')).toMatch(/User:\s+0\s+Group:\s+0/)
    expect(debugfs(image, 'stat /name')).toContain('etc/hostname')
    expect(lines).toHaveLength(1)
  })

  test('is made once per digest, and only one of many at once is kept', async () => {
    const images = await Promise.all(
      Array.from({ length: 3 }, () => baseImage(cache, template('2'), asRoot, () => undefined)),
    )
    expect(new Set(images).size).toBe(1)
    const { ino } = statSync(images[0] ?? '')
    await baseImage(cache, template('2'), asRoot, () => expect.unreachable('it exists'))
    expect(statSync(images[0] ?? '').ino).toBe(ino)
  })
})

/** The same files each time, made in another order and at another time. */
function sameFiles(name: string, names: readonly string[], content = 'same'): string {
  const made = join(directory, name)
  for (const folder of ['a', 'b'].toSorted(() => (name < 'm' ? 1 : -1)))
    mkdirSync(join(made, folder), { recursive: true })
  for (const file of names) writeFileSync(join(made, 'a', file), content)
  linkSync(join(made, 'a/1'), join(made, 'b/hard'))
  symlinkSync('../a/2', join(made, 'b/soft'))
  chmodSync(join(made, 'a/3'), 0o640)
  for (const path of ['a/1', 'a/2', 'a/3', 'a', 'b', '.']) utimesSync(join(made, path), 1_600_000_000, 1_600_000_000)
  execFileSync('touch', ['-h', '-d', '@1600000000', join(made, 'b/soft')])
  return made
}

function contentOf(image: string): string {
  return createHash('sha256').update(readFileSync(image)).digest('hex')
}

describe('an image depends on the files alone', () => {
  test('the same files give the same image, byte for byte, and others another', async () => {
    const build = (digest: string, made: string): Promise<string> =>
      baseImage(join(directory, `cache-${digest}`), template(digest, made), asRoot, () => undefined)
    const one = await build('5', sameFiles('first', ['1', '2', '3']))
    // Of change: it cannot be set.
    await new Promise((resolve) => setTimeout(resolve, 1100))
    const two = await build('6', sameFiles('second', ['3', '2', '1']))
    const other = await build('7', sameFiles('other', ['1', '2', '3'], 'else'))
    expect(contentOf(two)).toBe(contentOf(one))
    expect(await baseImageIdentity(two)).toBe(await baseImageIdentity(one))
    expect(await baseImageIdentity(other)).not.toBe(await baseImageIdentity(one))
    execFileSync('e2fsck', ['-fn', one], { stdio: 'ignore' })
    expect(debugfs(one, 'stat /a/3')).toMatch(/ctime: 0x5f5e1000:0+/)
    expect(debugfs(one, 'ls -l /b')).toContain('hard')
  })

  test('its size does not depend on the file system that the files lie on', () => {
    const listing = 'd 2 1 4096\nf 1 2 4097\nf 2 3 8192\nf 2 3 8192\nl 1 4 7\n'
    expect(measure(listing)).toEqual({ blocks: 7, inodes: 4 })
    expect(measure(listing.replace('d 2 1 4096', 'd 1 1 60'))).toEqual({ blocks: 7, inodes: 4 })
  })
})

describe('makeUpperDisk', () => {
  test('is exactly as large as the limit, almost empty, and a clean file system', async () => {
    const path = join(directory, 'upper.ext4')
    await makeUpperDisk(cache, path, 1024 * 1024 * 1024)
    const { size, blocks } = statSync(path)
    expect(size).toBe(1024 * 1024 * 1024)
    expect(blocks * 512).toBeLessThan(1024 * 1024)
    execFileSync('e2fsck', ['-fn', path], { stdio: 'ignore' })
  })

  test('works for the smallest limit', async () => {
    const path = join(directory, 'small.ext4')
    await makeUpperDisk(cache, path, 16 * 1024 * 1024)
    expect(statSync(path).size).toBe(16 * 1024 * 1024)
  })
})
