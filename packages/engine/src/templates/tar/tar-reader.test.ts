import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { makeTar, type TarInput } from './make-tar.ts'
import { TarError, type TarHeader } from './tar-header.ts'
import { readTar, type TarLimits } from './tar-reader.ts'

const LIMITS: TarLimits = { entries: 1000, totalBytes: 1 << 20, pathBytes: 4096 }
const scratch = mkdtempSync(join(tmpdir(), 'hearth-tar-'))
afterAll(() => rmSync(scratch, { recursive: true }))

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.slice(start, start + size)
}

async function read(
  bytes: Uint8Array,
  limits: TarLimits = LIMITS,
  chunk = 1000,
): Promise<{ header: TarHeader; content: string }[]> {
  const found: { header: TarHeader; content: string }[] = []
  for await (const entry of readTar(cut(bytes, chunk), limits)) {
    found.push({ header: entry.header, content: (await entry.bytes()).toString('utf8') })
  }
  return found
}

describe('tar reader', () => {
  it.each(['ustar', 'gnu', 'posix', 'v7', 'oldgnu'])('reads what tar writes as %s', async (format) => {
    const root = join(scratch, format)
    const long = ['v7', 'ustar'].includes(format) ? 'n'.repeat(60) : 'n'.repeat(150)
    // In ustar a long path is split between two fields.
    const directory = format === 'ustar' ? `directory/${'d'.repeat(80)}` : 'directory'
    mkdirSync(join(root, directory), { recursive: true })
    writeFileSync(join(root, directory, long), 'long name')
    writeFileSync(join(root, 'plain'), 'x'.repeat(1500))
    if (format !== 'v7' && format !== 'ustar') symlinkSync('t'.repeat(200), join(root, 'link'))
    const bytes = execFileSync('tar', [`--format=${format}`, '-C', root, '-c', '.'], { maxBuffer: 1 << 24 })
    const entries = await read(bytes)
    const named = new Map(entries.map((entry) => [entry.header.path.replace(/\/$/, ''), entry]))
    expect(named.get(`./${directory}/${long}`)?.content).toBe('long name')
    expect(named.get('./plain')?.content).toHaveLength(1500)
    expect(named.get('./directory')?.header.type).toBe('directory')
    if (format !== 'v7' && format !== 'ustar') expect(named.get('./link')?.header.target).toHaveLength(200)
  })

  it('gives back what was written, however it is cut', async () => {
    const name = fc
      .string({ minLength: 1, maxLength: 300, unit: 'grapheme' })
      .filter((text) => !/[\0/]|^\.+$|�/.test(text))
    const entry = fc.record({
      path: name,
      content: fc.uint8Array({ maxLength: 2000 }),
      mode: fc.nat(0o7777),
      uid: fc.nat(70_000),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 8 }), fc.integer({ min: 1, max: 4000 }), async (entries, chunk) => {
        const found = await read(makeTar(entries), LIMITS, chunk)
        expect(found.map(({ header }) => [header.path, header.mode, header.uid, header.size])).toEqual(
          entries.map((each) => [each.path, each.mode, each.uid, each.content.length]),
        )
      }),
      { numRuns: 60 },
    )
  })

  it('survives any bytes', async () => {
    const valid = makeTar([
      { path: 'a', content: 'b' },
      { path: 'l', type: 'symlink', target: 'a'.repeat(200) },
    ])
    const damage = fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(damage, fc.nat(valid.length), async (changes, length) => {
        const bytes = Buffer.from(valid)
        for (const [at, value] of changes) bytes[at] = value
        await read(bytes.subarray(0, length)).catch((error: unknown) => {
          if (!(error instanceof TarError)) throw error
        })
      }),
      { numRuns: 300 },
    )
  })

  it.each<[string, Uint8Array, Partial<TarLimits>]>([
    ['truncated content', makeTar([{ path: 'a', content: 'x'.repeat(5000) }]).subarray(0, 2000), {}],
    ['a truncated header', makeTar([{ path: 'a' }]).subarray(0, 300), {}],
    ['a wrong checksum', Buffer.from(makeTar([{ path: 'a' }])).fill(1, 200, 210), {}],
    ['too many entries', makeTar([{ path: 'a' }, { path: 'b' }]), { entries: 1 }],
    [
      'too much content',
      makeTar([
        { path: 'a', content: 'xx' },
        { path: 'b', content: 'xx' },
      ]),
      { totalBytes: 3 },
    ],
    ['a path that is too long', makeTar([{ path: 'x'.repeat(300) }]), { pathBytes: 200 }],
    ['text', Buffer.from('x'.repeat(2000)), {}],
  ])('refuses %s', async (_, bytes, limits) => {
    await expect(read(bytes, { ...LIMITS, ...limits })).rejects.toThrow(TarError)
  })

  it('skips what is not read', async () => {
    const inputs: TarInput[] = [{ path: 'a', content: 'x'.repeat(3000) }, { path: 'b' }]
    const paths: string[] = []
    for await (const entry of readTar(cut(makeTar(inputs), 100), LIMITS)) paths.push(entry.header.path)
    expect(paths).toEqual(['a', 'b'])
  })
})
