import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { baseImage } from './base-image.ts'
import { makeUpperDisk } from './upper-disk.ts'

const directory = mkdtempSync(join(tmpdir(), 'hearth-disks-'))
const cache = join(directory, 'cache')
const root = join(directory, 'root')
mkdirSync(join(root, 'etc'), { recursive: true })
writeFileSync(join(root, 'etc/hostname'), 'box\n')
symlinkSync('etc/hostname', join(root, 'name'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const asRoot = process.getuid?.() === 0

function template(digest: string): Parameters<typeof baseImage>[1] {
  return {
    kind: 'directory',
    name: 'test',
    digest: `sha256:${digest}`,
    root,
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
