import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { collectChanges } from './list-changes.ts'
import { readRecords } from './record-stream.ts'
import { guest } from './testing/list.fixture.ts'

let stream: Buffer

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), 'hearth-records-'))
  mkdirSync(join(folder, 'directory'))
  writeFileSync(join(folder, 'directory/file'), 'content')
  symlinkSync('somewhere', join(folder, 'link'))
  const words = [`after=${folder}`, 'changes=9', 'entries=9', 'content-file=100', 'content-all=100']
  stream = execFileSync(guest, ['changes', ...words], { input: '' })
  rmSync(folder, { recursive: true })
})

async function* pieces(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

async function read(bytes: Uint8Array, length = bytes.length): Promise<string[]> {
  const changes = await collectChanges(readRecords(pieces(bytes, length)))
  return changes.map(
    ({ record, content }) => `${record.path} ${record.target}${content === null ? '' : String(content)}`,
  )
}

describe('a stream of changes', () => {
  it('is read the same however it is cut', async () => {
    const expected = ['directory ', 'directory/file content', 'link somewhere']
    for (const length of [1, 2, 3, 7, 50, 51, 52, 53, 1000]) expect(await read(stream, length)).toEqual(expected)
  })

  it('is refused when it ends early or goes on behind its end', async () => {
    for (let length = 0; length < stream.length; length++) {
      await expect(read(stream.subarray(0, length), 1000)).rejects.toMatchObject({ code: 'protocol_violation' })
    }
    await expect(read(Buffer.concat([stream, Buffer.of(0)]))).rejects.toMatchObject({ code: 'protocol_violation' })
  })

  it('may hold anything', async () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(changes, async (bytes) => {
        const broken = Buffer.from(stream)
        // The sizes of files are left alone: what they promise is allocated, and limited where the stream is asked for.
        for (const [at, value] of bytes) if (!isSize(at % broken.length)) broken[at % broken.length] = value
        const result = await read(broken).catch((error: unknown) => error)
        expect(Array.isArray(result) || HearthError.isInstance(result)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it('leads nowhere but below its root', async () => {
    for (const path of ['../escape', 'a/../../b', '/absolute', 'a//b', 'a/', './a', 'nul\0x']) {
      await expect(read(renamed(path))).rejects.toMatchObject({ code: 'protocol_violation' })
    }
    expect(await read(renamed('new\nline'))).toContain('new\nline ')
  })
})

function isSize(at: number): boolean {
  return [0, 52 + 9, 52 + 9 + 52 + 14 + 7].some((start) => at >= start + 16 && at < start + 24)
}

/** The first record under another path. */
function renamed(path: string): Buffer {
  const bytes = Buffer.from(path)
  const head = Buffer.from(stream.subarray(0, 52))
  head.writeUInt16LE(bytes.length, 48)
  return Buffer.concat([head, bytes, stream.subarray(52 + 'directory'.length)])
}
