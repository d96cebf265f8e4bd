import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MemoryTree } from './memory-tree.ts'
import { ShellFileSystem } from './shell-file-system.ts'

const SECRET = 'of the host'
const MOST = 1024 * 1024

let directory: string
let files: string
let tree: MemoryTree

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hearth-tree-'))
  files = join(directory, 'volume')
  for (const path of [files, join(files, 'inner'), join(directory, 'beside')]) mkdirSync(path)
  for (const path of ['beside/secret', 'secret']) writeFileSync(join(directory, path), SECRET)
  writeFileSync(join(files, 'inner/secret'), 'of the volume')
  tree = new MemoryTree({ bytes: MOST, entries: 100 })
  tree.mount('/workspace', { files, readOnly: false })
})
afterEach(() => rmSync(directory, { recursive: true }))

function text(path: string): string {
  return Buffer.from(tree.read(path)).toString()
}

describe('a volume in a simulated sandbox', () => {
  test('is left by no link', () => {
    tree.makeDirectory('/etc')
    tree.write('/etc/passwd', Buffer.from('of the sandbox'))
    tree.write('/secret', Buffer.from('of the sandbox'))
    for (const [target, name] of [
      ['/etc/passwd', 'absolute'],
      ['../secret', 'above'],
      ['../../../../../../etc/passwd', 'far'],
      [join(directory, 'secret'), 'named'],
      ['../beside', 'directory'],
      [directory, 'place'],
    ] as const)
      symlinkSync(target, join(files, name))
    for (const name of ['absolute', 'above', 'far']) expect(text(`/workspace/${name}`)).toBe('of the sandbox')
    for (const name of ['named', 'directory/secret', 'place/secret', '../beside/secret'])
      expect(() => text(`/workspace/${name}`)).toThrow(/ENOENT/)
    for (const name of ['above', 'named', 'directory/secret']) {
      try {
        tree.write(`/workspace/${name}`, Buffer.from('x'))
      } catch (error) {
        expect(String(error)).toMatch(/ENOENT/)
      }
    }
    tree.remove('/workspace/directory', { recursive: true })
    for (const path of ['beside/secret', 'secret']) expect(readFileSync(join(directory, path), 'utf8')).toBe(SECRET)
  })

  test('is left by nobody while its directories become links', { timeout: 30_000 }, async () => {
    const [inner, away, link] = ['inner', 'away', 'link'].map((name) => join(files, name))
    const swaps = `
      const { renameSync, symlinkSync } = require('node:fs')
      symlinkSync(${JSON.stringify(join(directory, 'beside'))}, ${JSON.stringify(link)})
      for (;;) {
        renameSync(${JSON.stringify(inner)}, ${JSON.stringify(away)})
        renameSync(${JSON.stringify(link)}, ${JSON.stringify(inner)})
        renameSync(${JSON.stringify(inner)}, ${JSON.stringify(link)})
        renameSync(${JSON.stringify(away)}, ${JSON.stringify(inner)})
      }`
    const worker = new Worker(swaps, { eval: true })
    const seen = new Set<string>()
    const deadline = Date.now() + 2000
    while (Date.now() < deadline) {
      try {
        seen.add(text('/workspace/inner/secret'))
      } catch {
        // It is elsewhere just now, or a link to what is not in the sandbox.
      }
    }
    await worker.terminate()
    expect([...seen]).toEqual(['of the volume'])
  })

  test('waits for no pipe, and takes no file that is too large', () => {
    execFileSync('mkfifo', [join(files, 'pipe')])
    expect(tree.get('/workspace/pipe', 'stat').kind).toBe('sink')
    expect(() => tree.write('/workspace/pipe', Buffer.from('x'))).toThrow(/EINVAL/)
    writeFileSync(join(files, 'large'), '')
    truncateSync(join(files, 'large'), MOST + 1)
    expect(() => tree.read('/workspace/large')).toThrow(/EFBIG/)
  })

  test('is seen as it is, and changed as it says', async () => {
    const shell = new ShellFileSystem(tree, new Map())
    await shell.mkdir('/workspace/a/b', { recursive: true })
    await shell.appendFile('/workspace/a/b/file', 'one')
    await shell.appendFile('/workspace/a/b/file', 'two')
    await shell.link('/workspace/a/b/file', '/workspace/other')
    await shell.chmod('/workspace/other', 0o640)
    await shell.symlink('a/b', '/workspace/link')
    expect(text('/workspace/link/file')).toBe('onetwo')
    expect((await shell.stat('/workspace/a/b/file')).mode).toBe(0o640)
    expect(await shell.readdir('/workspace')).toEqual(['a', 'inner', 'link', 'other'])
    await shell.writeFile('/own', 'in memory')
    await shell.mv('/own', '/workspace/own')
    await shell.mv('/workspace/a', '/moved')
    expect([text('/workspace/own'), text('/moved/b/file')]).toEqual(['in memory', 'onetwo'])
    expect(readFileSync(join(files, 'own'), 'utf8')).toBe('in memory')
    await shell.mv('/workspace/own', '/workspace/inner/own')
    await shell.mv('/workspace/inner/own', '/workspace/inner/own')
    expect(await shell.readdir('/workspace/inner')).toEqual(['own', 'secret'])
    for (const path of ['/workspace', '/'])
      await expect(shell.rm(path, { recursive: true })).rejects.toThrow(/EBUSY|EPERM/)
    await expect(shell.mv('/workspace', '/elsewhere')).rejects.toThrow(/EBUSY/)
    await shell.rm('/workspace/inner', { recursive: true })
    // What others do is seen at once, and a copy of the tree has nothing of it.
    renameSync(join(files, 'other'), join(files, 'renamed'))
    expect(await shell.readdir('/workspace')).toEqual(['link', 'renamed'])
    expect([...tree.clone().list('/workspace')]).toEqual([])
  })

  test('is only read where it is for reading', () => {
    tree.mount('/other', { files, readOnly: true })
    expect(text('/other/inner/secret')).toBe('of the volume')
    const attempts = [
      () => tree.write('/other/inner/secret', Buffer.from('x')),
      () => tree.append('/other/inner/secret', Buffer.from('x')),
      () => tree.write('/other/new', Buffer.from('x')),
      () => tree.makeDirectory('/other/new'),
      () => tree.symlink('x', '/other/new'),
      () => tree.remove('/other/inner', { recursive: true }),
      () => tree.rename('/other/inner', '/other/new'),
      () => tree.link('/other/inner/secret', '/other/new'),
      () => tree.setMode('/other/inner', 0o777),
      () => tree.setModified('/other/inner', 0),
    ]
    for (const attempt of attempts) expect(attempt).toThrow(/EROFS/)
    expect(() => tree.link('/other/inner/secret', '/workspace/new')).toThrow(/EXDEV/)
  })
})
