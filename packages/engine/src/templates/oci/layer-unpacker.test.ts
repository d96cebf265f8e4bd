import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeTar, type TarInput } from '../tar/make-tar.ts'
import { UNPACK_LIMITS, type UnpackLimits } from './image-limits.ts'
import { LayerUnpacker } from './layer-unpacker.ts'

let base: string
let root: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'hearth-unpack-'))
  root = join(base, 'root')
  mkdirSync(root)
  mkdirSync(join(base, 'outside'))
  writeFileSync(join(base, 'outside/secret'), 'secret', { mode: 0o600 })
})
afterEach(() => rmSync(base, { recursive: true }))

async function unpack(...layers: (readonly TarInput[])[]): Promise<void> {
  await unpackWithin(UNPACK_LIMITS, ...layers)
}

async function unpackWithin(limits: UnpackLimits, ...layers: (readonly TarInput[])[]): Promise<void> {
  const unpacker = new LayerUnpacker(root, limits)
  for (const layer of layers) await unpacker.unpack(once(makeTar(layer)), new AbortController().signal)
  unpacker.finish()
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes
}

const text = (path: string): string => readFileSync(join(root, path), 'utf8')

/** Nothing outside of the root was made, changed or linked. */
function expectOutsideIntact(): void {
  expect(readdirSync(base).toSorted()).toEqual(['outside', 'root'])
  expect(readdirSync(join(base, 'outside'))).toEqual(['secret'])
  const status = lstatSync(join(base, 'outside/secret'))
  expect([status.mode & 0o7777, status.nlink, readFileSync(join(base, 'outside/secret'), 'utf8')]).toEqual([
    0o600,
    1,
    'secret',
  ])
}

describe('hostile layers', () => {
  const up = '../outside/secret'
  it.each<[string, (outside: string) => TarInput[]]>([
    ['a name with dot-dot', () => [{ path: '../outside/new' }]],
    ['a dot-dot in the middle', () => [{ path: 'a/../../outside/new' }]],
    ['a hard link with dot-dot', () => [{ path: 'h', type: 'hardlink', target: up }]],
    ['a hard link to an absolute path', (outside) => [{ path: 'h', type: 'hardlink', target: `${outside}/secret` }]],
    [
      'a hard link through a symlink',
      (outside) => [
        { path: 'l', type: 'symlink', target: outside },
        { path: 'h', type: 'hardlink', target: 'l/secret' },
      ],
    ],
    [
      'a hard link to a directory',
      () => [
        { path: 'd', type: 'directory' },
        { path: 'h', type: 'hardlink', target: 'd' },
      ],
    ],
    ['a whiteout of dot-dot', () => [{ path: '.wh...' }]],
    ['a whiteout of nothing', () => [{ path: '.wh.' }]],
    [
      'links that go in circles',
      () => [{ path: 'a', type: 'symlink', target: 'b' }, { path: 'b', type: 'symlink', target: 'a' }, { path: 'a/x' }],
    ],
    ['an entry below a file', () => [{ path: 'f' }, { path: 'f/x' }]],
    ['an owner that is none', () => [{ path: 'f', uid: 2 ** 32 - 1 }]],
  ])('%s is refused', async (_, entries) => {
    await expect(unpack(entries(join(base, 'outside')))).rejects.toMatchObject({ code: 'image_invalid' })
    expectOutsideIntact()
  })

  it('an absolute name lies in the root', async () => {
    await unpack([{ path: '/etc/passwd', content: 'inside' }])
    expect(text('etc/passwd')).toBe('inside')
  })

  it('links are followed as from inside, and never to the outside', async () => {
    const outside = join(base, 'outside')
    await unpack([
      { path: 'absolute', type: 'symlink', target: outside },
      { path: 'relative', type: 'symlink', target: '../../../../../../../../etc' },
      { path: 'absolute/secret', content: 'inside' },
      { path: 'relative/file', content: 'inside' },
    ])
    expect(text(`${outside.slice(1)}/secret`)).toBe('inside')
    expect(text('etc/file')).toBe('inside')
    expectOutsideIntact()
  })

  it('a file replaces a symlink and is not written through it', async () => {
    const target = join(base, 'outside/secret')
    await unpack([
      { path: 'l', type: 'symlink', target },
      { path: 'l', content: 'inside' },
    ])
    expect(lstatSync(join(root, 'l')).isFile()).toBe(true)
    expectOutsideIntact()
  })

  it('a directory replaces a symlink, and its mode is not given to what the link pointed at', async () => {
    await unpack(
      [
        { path: 'd', type: 'directory' },
        { path: 'd/secret', type: 'directory', mode: 0o777 },
      ],
      [{ path: 'd', type: 'symlink', target: join(base, 'outside') }],
    )
    expect(readlinkSync(join(root, 'd'))).toBe(join(base, 'outside'))
    expectOutsideIntact()
  })

  it('whiteouts do not reach through symlinks', async () => {
    await unpack(
      [{ path: 'l', type: 'symlink', target: join(base, 'outside') }],
      [{ path: 'l/.wh.secret' }, { path: 'l/.wh..wh..opq' }],
    )
    expectOutsideIntact()
  })

  it('devices and pipes are left out, setuid bits dropped', async () => {
    await unpack([
      { path: 'null', type: 'device' },
      { path: 'pipe', type: 'fifo' },
      { path: 'su', mode: 0o6755 },
    ])
    expect(readdirSync(root)).toEqual(['su'])
    expect(lstatSync(join(root, 'su')).mode & 0o7777).toBe(0o755)
  })

  it('a hard link to itself keeps the file', async () => {
    await unpack([
      { path: 'f', content: 'kept' },
      { path: 'f', type: 'hardlink', target: './f' },
    ])
    expect(text('f')).toBe('kept')
  })

  it('sizes and counts are bounded over all layers', async () => {
    const content = 'x'.repeat(600)
    const small = { ...UNPACK_LIMITS, totalBytes: 1000 }
    await expect(unpackWithin(small, [{ path: 'a', content }], [{ path: 'b', content }])).rejects.toMatchObject({
      code: 'image_invalid',
    })
    const few = { ...UNPACK_LIMITS, entries: 3 }
    await expect(
      unpackWithin(few, [{ path: 'a' }, { path: 'b' }], [{ path: 'c' }, { path: 'd' }]),
    ).rejects.toMatchObject({ code: 'image_invalid' })
  })
})

describe('layers', () => {
  it('lie over each other', async () => {
    await unpack(
      [
        { path: 'd', type: 'directory', mode: 0o750 },
        { path: 'd/a', content: '1' },
        { path: 'd/b', content: '1' },
        { path: 'x', content: '1' },
      ],
      [
        { path: 'd/a', content: '2' },
        { path: 'd/.wh.b' },
        { path: 'x', type: 'directory' },
        { path: 'x/y', content: '2' },
      ],
      [{ path: 'd', content: 'now a file' }, { path: '.wh..wh.plnk/note' }, { path: '.wh..wh.aufs' }],
    )
    expect(readdirSync(root).toSorted()).toEqual(['d', 'x'])
    expect([text('d'), text('x/y')]).toEqual(['now a file', '2'])
  })

  it('a whiteout hides the layers below and not its own', async () => {
    await unpack(
      [{ path: 'd/old/deep' }, { path: 'd/both', content: '1' }, { path: 'd/gone' }],
      [
        { path: 'd/both', content: '2' },
        { path: 'd/.wh.both' },
        { path: 'd/.wh.gone' },
        { path: 'd/.wh.absent' },
        { path: 'no/such/.wh.x' },
      ],
    )
    expect(readdirSync(join(root, 'd')).toSorted()).toEqual(['both', 'old'])
    expect(text('d/both')).toBe('2')
    expect(existsSync(join(root, 'no'))).toBe(false)
  })

  it('an opaque directory hides what is below, wherever in the layer it is said', async () => {
    await unpack(
      [{ path: 'd/old' }, { path: 'd/sub/old' }],
      [{ path: 'd/new' }, { path: 'd/sub/new' }, { path: 'd/.wh..wh..opq' }],
    )
    expect(readdirSync(join(root, 'd')).toSorted()).toEqual(['new', 'sub'])
    expect(readdirSync(join(root, 'd/sub'))).toEqual(['new'])
  })

  it('keep hard links, times, modes and owners', async () => {
    await unpack([
      { path: 'd', type: 'directory', mode: 0o1777, modifiedMs: 1_500_000_000_000 },
      { path: 'd/f', content: 'x', mode: 0o640, uid: 1000, gid: 1001, modifiedMs: 1_600_000_000_000 },
      { path: 'd/h', type: 'hardlink', target: 'd/f' },
    ])
    const file = lstatSync(join(root, 'd/f'))
    expect([file.mode & 0o7777, file.mtimeMs, file.nlink]).toEqual([0o640, 1_600_000_000_000, 2])
    if (process.getuid?.() === 0) expect([file.uid, file.gid]).toEqual([1000, 1001])
    const directory = lstatSync(join(root, 'd'))
    expect([directory.mode & 0o7777, directory.mtimeMs]).toEqual([0o1777, 1_500_000_000_000])
  })
})
