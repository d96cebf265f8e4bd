import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile, readdir } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WatchEvent } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGuest, type TestGuest } from './test-guest.ts'
import type { LinkFiles } from './link-files.ts'

let guest: TestGuest
let files: LinkFiles
let directory: string
beforeAll(async () => {
  guest = await startGuest({ hostStats: async () => ({ memoryLimitBytes: 42 }) })
  files = guest.machine.files
  directory = await mkdtemp(join(tmpdir(), 'hearth-link-'))
}, 120_000)
afterAll(async () => {
  await guest.machine.kill()
  await rm(directory, { recursive: true })
})

const path = (name: string): string => join(directory, name)

async function gather(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

describe('one file', () => {
  test('is written in one step and read back, whole and in part', async () => {
    const info = await files.write(path('a/b/c.txt'), 'grüß 🔥', { mode: 0o600 })
    expect(info).toMatchObject({
      path: path('a/b/c.txt'),
      name: 'c.txt',
      type: 'file',
      mode: 0o600,
      size: 11,
      target: null,
    })
    expect(await files.readText(path('a/b/c.txt'))).toBe('grüß 🔥')
    expect(Buffer.from(await files.read(path('a/b/c.txt'), { offset: 1, length: 2 })).toString()).toBe(
      'rü'.slice(0, 1) + '\ufffd',
    )
    expect(await files.readText(path('a/b/c.txt'), { offset: 100 })).toBe('')
    expect(Math.abs(info.modifiedAt.getTime() - Date.now())).toBeLessThan(60_000)
  })

  test('append, exclusive, without parents', async () => {
    await files.write(path('log'), 'one')
    await files.write(path('log'), 'two', { append: true })
    expect(await files.readText(path('log'))).toBe('onetwo')
    await expect(files.write(path('log'), 'x', { exclusive: true })).rejects.toMatchObject({ code: 'file_exists' })
    await expect(files.write(path('no/where'), 'x', { parents: false })).rejects.toMatchObject({
      code: 'file_not_found',
    })
    expect((await files.write(path('empty'), '')).size).toBe(0)
    expect((await files.read(path('empty'))).length).toBe(0)
  })

  test('of a hundred megabytes, in and out, with its checksum', async () => {
    const content = randomBytes(100_000_000)
    await files.write(path('large'), content)
    expect((await stat(path('large'))).size).toBe(content.length)
    const back = await files.read(path('large'))
    expect(digest(back)).toBe(digest(content))
    const hash = createHash('sha256')
    for await (const chunk of files.readStream(path('large'))) hash.update(chunk)
    expect(hash.digest('hex')).toBe(digest(content))
    await files.remove(path('large'))
  }, 60_000)

  test('from a stream whose buffer is used again', async () => {
    async function* source(): AsyncGenerator<Uint8Array> {
      const buffer = new Uint8Array(100_000)
      for (let index = 0; index < 50; index++) {
        buffer.fill(index)
        yield buffer
      }
    }
    await files.write(path('streamed'), source())
    const content = await readFile(path('streamed'))
    expect(content.length).toBe(5_000_000)
    for (let index = 0; index < 50; index++) expect(content[index * 100_000 + 50_000]).toBe(index)
  })

  test('a stream that fails or a caller that gives up leaves nothing behind', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(300_000)
      throw new Error('the source broke')
    }
    await expect(files.write(path('broken'), broken())).rejects.toThrow('the source broke')
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        await sleep(5)
        yield new Uint8Array(1000)
      }
    }
    const signal = AbortSignal.timeout(100)
    await expect(files.write(path('aborted'), endless(), { signal })).rejects.toMatchObject({ code: 'aborted' })
    await guest.link.ping()
    await sleep(50)
    const left = (await readdir(directory)).filter((name) => !['a', 'log', 'empty', 'streamed'].includes(name))
    expect(left).toEqual([])
  })

  test('a reader that stops early closes its channel', async () => {
    await writeFile(path('zeros'), new Uint8Array(5_000_000))
    for await (const chunk of files.readStream(path('zeros'))) {
      expect(chunk.length).toBeGreaterThan(0)
      break
    }
    await expect(gather(files.readStream(path('zeros'), { signal: AbortSignal.abort() }))).rejects.toMatchObject({
      code: 'aborted',
    })
    expect(await guest.link.ping()).toBeGreaterThan(0)
    await rm(path('zeros'))
  })

  test('a slow reader loses nothing', async () => {
    const content = randomBytes(2_000_000)
    await writeFile(path('slow'), content)
    const chunks: Uint8Array[] = []
    for await (const chunk of files.readStream(path('slow'))) {
      await sleep(2)
      chunks.push(chunk)
    }
    expect(Buffer.concat(chunks).equals(content)).toBe(true)
  })

  test('a file without a size', async () => {
    expect(await files.readText('/proc/self/status')).toContain('Name:')
  })
})

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

describe('directories', () => {
  test('are made, listed in order, renamed and removed', async () => {
    await files.makeDirectory(path('tree/b/c'), { parents: true })
    await files.write(path('tree/a'), '1')
    await files.symlink('a', path('tree/z'))
    const one = await files.list(path('tree'))
    expect(one.map((info) => [info.name, info.type, info.target])).toEqual([
      ['a', 'file', null],
      ['b', 'directory', null],
      ['z', 'symlink', 'a'],
    ])
    expect((await files.list(path('tree'), { depth: 3 })).map((info) => info.path)).toEqual(
      ['tree/a', 'tree/b', 'tree/b/c', 'tree/z'].map(path),
    )
    await expect(files.remove(path('tree'))).rejects.toMatchObject({ code: 'directory_not_empty' })
    await files.rename(path('tree'), path('wood'))
    await files.chmod(path('wood/a'), 0o640)
    expect((await files.stat(path('wood/z'))).mode).toBe(0o640)
    expect((await files.stat(path('wood/z'), { followSymlinks: false })).type).toBe('symlink')
    await files.remove(path('wood'), { recursive: true })
    expect(await files.exists(path('wood'))).toBe(false)
    await files.remove(path('wood'), { force: true })
  })

  test('a listing of many entries', async () => {
    await files.makeDirectory(path('many'))
    await Promise.all(
      Array.from({ length: 3000 }, (_, index) => writeFile(path(`many/${'n'.repeat(100)}${index}`), '')),
    )
    expect((await files.list(path('many'))).length).toBe(3000)
    await files.remove(path('many'), { recursive: true })
  })

  test('errors are typed', async () => {
    await expect(files.read(path('none'))).rejects.toMatchObject({ code: 'file_not_found' })
    await expect(files.read(directory)).rejects.toMatchObject({ code: 'is_a_directory' })
    await expect(files.stat(path('log/x'))).rejects.toMatchObject({ code: 'not_a_directory' })
    await expect(files.makeDirectory(directory)).rejects.toMatchObject({ code: 'file_exists' })
    await expect(files.list(path('log'))).rejects.toMatchObject({ code: 'not_a_directory' })
    await expect(files.stat('relative')).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(files.stat('/a\0b')).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(files.chmod('/x', 0o10000)).rejects.toMatchObject({ code: 'invalid_request' })
    expect(() => files.readStream('relative')).toThrow('absolute')
  })

  test('go out and come in as an archive', async () => {
    await files.write(path('from/deep/file'), 'content', { mode: 0o755 })
    await files.symlink('file', path('from/deep/link'))
    const archive = await gather(files.archive(path('from')))
    expect(archive.length % 512).toBe(0)
    await files.makeDirectory(path('to'))
    await files.extract(path('to'), archive)
    const found = await files.list(path('to'), { depth: 5 })
    const file = found.find((info) => info.name === 'file')
    expect(file).toMatchObject({ type: 'file', mode: 0o755, size: 7 })
    expect(found.find((info) => info.name === 'link')).toMatchObject({ type: 'symlink', target: 'file' })
    await expect(files.extract(path('to'), Buffer.alloc(10_000, 7))).rejects.toMatchObject({ code: 'file_failed' })
    await expect(gather(files.archive(path('nowhere')))).rejects.toMatchObject({ code: 'file_not_found' })
  })
})

describe('watch', () => {
  test('sees what happens below, until it is disposed of', async () => {
    await files.makeDirectory(path('watched/sub'), { parents: true })
    const seen: WatchEvent[] = []
    {
      await using watching = await guest.machine.watch(path('watched'), true)
      await files.write(path('watched/sub/new'), 'x')
      await files.rename(path('watched/sub/new'), path('watched/sub/renamed'))
      await files.remove(path('watched/sub/renamed'))
      for await (const event of watching) {
        seen.push(event)
        if (event.kind === 'removed') break
      }
    }
    expect(seen.find((event) => event.kind === 'renamed' && event.from === path('watched/sub/new'))?.path).toBe(
      path('watched/sub/renamed'),
    )
    expect(seen.at(-1)).toEqual({ kind: 'removed', path: path('watched/sub/renamed'), from: null })
    await expect(guest.machine.watch(path('nowhere'), false)).rejects.toMatchObject({ code: 'file_not_found' })
  })
})

describe('ports', () => {
  let server: Server
  let port: number
  beforeAll(async () => {
    server = createServer({ allowHalfOpen: true }, (socket) => {
      // A connection that the guest drops without reading to the end is reset: that is what one test here does.
      socket.on('error', () => socket.destroy())
      socket.pipe(socket)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    port = typeof address === 'object' && address !== null ? address.port : 0
  })
  afterAll(() => {
    server.close()
  })

  test('bytes go both ways until each side has ended', async () => {
    await using connection = await guest.machine.connect(port)
    const content = randomBytes(3_000_000)
    const back = gather(connection.data)
    await connection.write(content)
    await connection.end()
    expect((await back).equals(content)).toBe(true)
    await expect(connection.write(content)).rejects.toMatchObject({ code: 'port_refused' })
  })

  test('nothing listens, and a closed connection ends its reader', async () => {
    await expect(guest.machine.connect(1)).rejects.toMatchObject({ code: 'port_refused' })
    const connection = await guest.machine.connect(port)
    const reading = gather(connection.data)
    await connection.close()
    expect((await reading).length).toBe(0)
  })
})

test('statistics: what the host knows wins', async () => {
  const stats = await guest.machine.stats()
  expect(stats.memoryLimitBytes).toBe(42)
  expect(stats.uptimeMs).toBeGreaterThan(0)
  expect(stats.diskLimitBytes).toBeGreaterThan(0)
})
