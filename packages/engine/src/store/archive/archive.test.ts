import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newSandboxId, newSnapshotId } from '@hearth/contract'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hostPaths, type HostPaths } from '../../host/host.ts'
import { makeTar, type TarInput } from '../../templates/tar/make-tar.ts'
import { TAR_END, tarHeader, tarPadding } from '../../templates/tar/tar-writer.ts'
import type { CapturedArea } from '../disk-area.ts'
import type { StoredSnapshot } from '../snapshot-manifest.ts'
import { SnapshotStore } from '../snapshot-store.ts'
import { manifestOf } from '../testing/stage.fixture.ts'
import type { ImportOptions } from './import-snapshot.ts'

let paths: HostPaths
let store: SnapshotStore
let whole: Buffer

beforeAll(async () => {
  paths = hostPaths({ ...process.env, HEARTH_HOME: await mkdtemp(join(tmpdir(), 'hearth-archive-')) })
  store = new SnapshotStore(paths)
  whole = await collect(store.export(await makeSnapshot()))
})
afterAll(async () => await rm(paths.home, { recursive: true, force: true }))

/** With memory, a hole, and everything that a disk may hold. */
async function makeSnapshot(): Promise<StoredSnapshot> {
  const id = newSnapshotId()
  const { directory } = await store.draft(id)
  const upper = join(directory, 'disk', 'upper')
  await mkdir(join(upper, 'home'), { recursive: true })
  await mkdir(join(directory, 'memory'))
  await writeFile(join(upper, 'home', 'file'), 'content of the file')
  await symlink('/etc/passwd', join(upper, 'home', 'link'))
  await writeFile(join(upper, 'holes'), 'start')
  await truncate(join(upper, 'holes'), 3_000_000)
  await writeFile(join(directory, 'memory', 'ram'), Buffer.alloc(100_000, 'r'))
  await truncate(join(directory, 'memory', 'ram'), 2_000_000)
  const area: CapturedArea = { disk: { kind: 'layer', layers: [] }, diskBytes: 0 }
  const manifest = manifestOf(newSandboxId(), area, { id, memory: true, memoryBytes: 2_000_000 })
  return await store.commit(id, { ...manifest, memory: { runtime: 'qemu', bytes: 2_000_000, facts: { version: '1' } } })
}

async function collect(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of source) parts.push(part)
  return Buffer.concat(parts)
}

async function* pieces(bytes: Uint8Array, size = 4096): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** What the archive's own manifest entry says, so that hostile archives begin like real ones. */
function head(): TarInput {
  const manifest = {
    ...manifestOf(newSandboxId(), { disk: { kind: 'layer', layers: [] }, diskBytes: 0 }, { id: newSnapshotId() }),
  }
  return { path: 'hearth-snapshot.json', content: JSON.stringify({ format: 'hearth-snapshot', version: 1, manifest }) }
}

async function expectRefusal(bytes: Uint8Array, message: RegExp, options: ImportOptions = {}): Promise<void> {
  const before = await readdir(join(paths.store, 'snapshots'))
  await expect(store.import(pieces(bytes), options)).rejects.toMatchObject({
    code: 'snapshot_corrupt',
    message: expect.stringMatching(message) as string,
  })
  expect(await readdir(join(paths.store, 'snapshots'))).toEqual(before)
}

/** Of the right form, so that it is not what the archive is refused for. */
const zeros = '0'.repeat(64)
const CHECKSUMS: TarInput = {
  path: 'checksums.json',
  content: JSON.stringify({ manifest: zeros, disk: zeros, memory: {}, whole: zeros }),
}
const upper = { path: 'disk/upper', type: 'directory', mode: 0o755 } as const

describe('an archive of a snapshot', () => {
  it('comes back with its holes and its memory, and can be looked into with tar', async () => {
    const snapshot = await store.import(pieces(whole, 1000))
    const disk = join(snapshot.directory, 'disk', 'upper')
    const { size, blocks } = await stat(join(disk, 'holes'))
    expect([size, blocks * 512 < 100_000]).toEqual([3_000_000, true])
    const ram = await stat(join(snapshot.directory, 'memory', 'ram'))
    expect([ram.size, ram.blocks * 512 < 1_000_000]).toEqual([2_000_000, true])
    expect(snapshot.manifest.memory).toEqual({ runtime: 'qemu', bytes: 2_000_000, facts: { version: '1' } })
    expect(execFileSync('tar', ['-tf', '-'], { input: whole }).toString().split('\n').toSorted()).toEqual(
      expect.arrayContaining(['checksums.json', 'disk/upper/holes', 'hearth-snapshot.json', 'memory/ram']) as string[],
    )
  })

  it('counts by what it holds, not by what it says', async () => {
    const { info } = (await store.import(pieces(whole))).manifest
    // Its manifest says 0 and 2 MB; holes cost nothing.
    expect(info.diskBytes).toBeGreaterThanOrEqual('content of the file'.length + 'start'.length)
    expect(info.diskBytes).toBeLessThan(100_000)
    expect(info.memoryBytes).toBeGreaterThanOrEqual(100_000)
    expect(info.memoryBytes).toBeLessThan(1_000_000)
  })

  it('gives its files alone to who does not trust its maker, and is checked all the same', async () => {
    const { directory, manifest } = await store.import(pieces(whole), { memory: 'none' })
    expect(manifest).toMatchObject({ memory: null, interpreters: [], info: { memory: false, memoryBytes: 0 } })
    const names = await readdir(directory)
    expect([names.includes('disk'), names.includes('memory')]).toEqual([true, false])
    const changed = Buffer.from(whole)
    const at = changed.indexOf('rrrrrrrr')
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
    await expectRefusal(changed, /checksum/, { memory: 'none' })
  })

  it('is refused when it is cut anywhere', async () => {
    await expectRefusal(Buffer.alloc(0), /truncated/)
    for (const share of [0.1, 0.5, 0.9]) await expectRefusal(whole.subarray(0, whole.length * share), /truncated/)
    await expectRefusal(whole.subarray(0, whole.lastIndexOf('checksums.json')), /truncated|checksum/)
  })

  it('is refused when a byte of its content or of its names is another', async () => {
    for (const text of ['content of the file', 'rrrrrrrr', '"sandbox":"sb_', 'disk/upper/home/file', '/etc/passwd']) {
      const changed = Buffer.from(whole)
      const at = changed.indexOf(text) + text.length - 1
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
      await expectRefusal(changed, /checksum|truncated|cannot be|not a path|does not belong/)
    }
  })

  it('is never taken in, and never breaks anything, with any byte changed', async () => {
    const before = await readdir(join(paths.store, 'snapshots'))
    const place = fc.tuple(fc.integer({ min: 0, max: whole.length - 2048 }), fc.integer({ min: 1, max: 255 }))
    const property = fc.asyncProperty(fc.array(place, { minLength: 1, maxLength: 3 }), async (places) => {
      const changed = Buffer.from(whole)
      for (const [at, value] of places) changed.writeUInt8(changed.readUInt8(at) ^ value, at)
      const outcome = await store.import(pieces(changed)).then(
        (snapshot) => snapshot,
        (error: { code: string }) => error.code,
      )
      // Padding and the fields of a header that nobody reads are not summed up: such an archive says the same as before.
      if (typeof outcome === 'string') expect(outcome).toBe('snapshot_corrupt')
      else await store.remove(outcome.id, new Set())
    })
    await fc.assert(property, { numRuns: 15 })
    expect(await readdir(join(paths.store, 'snapshots'))).toEqual(before)
  })

  it('is refused when it is foreign, or of another version', async () => {
    await expectRefusal(Buffer.from('PK\u0003\u0004 not a tar at all'.padEnd(2048, 'x')), /checksum|truncated/)
    await expectRefusal(makeTar([{ path: 'readme', content: 'hello' }]), /does not belong/)
    await expectRefusal(makeTar([upper]), /not made by Hearth/)
    await expectRefusal(makeTar([{ path: 'hearth-snapshot.json', content: '{}' }]), /manifest cannot be read/)
    const newer = head().content?.toString().replace('"version":1,"manifest"', '"version":2,"manifest"') ?? ''
    await expectRefusal(makeTar([{ path: 'hearth-snapshot.json', content: newer }]), /this version/)
    await expectRefusal(makeTar([head(), head()]), /does not belong/)
    await expectRefusal(makeTar([head(), { path: 'memory/ram', content: 'x' }, upper]), /does not belong/)
  })
})

describe('a hostile archive', () => {
  const victim = (): string => join(paths.home, 'victim')
  const file = (path: string): TarInput => ({ path, content: 'evil' })
  const link = (path: string, target: string): TarInput => ({ path, type: 'symlink', target })

  it.each<[string, TarInput[], RegExp]>([
    ['leads out by its path', [file('disk/upper/../../../../victim')], /not a path/],
    ['begins at the root', [file('/victim')], /does not belong/],
    ['hides dots in the memory', [{ path: 'memory/../victim', content: 'x' }], /not a path/],
    [
      'writes through a link',
      [link('disk/upper/d', '../../../..'), file('disk/upper/d/victim')],
      /Too many|symbolic|Not a dir/i,
    ],
    ['puts a link in the place of the layer', [link('disk/link', '/etc')], /does not belong/],
    ['puts a file where a directory was', [file('disk/upper/d'), file('disk/upper/d/victim')], /Not a directory/],
    ['replaces what it brought', [file('disk/upper/a'), link('disk/upper/a', '/x')], /exists/],
    ['names a file twice', [file('disk/upper/a'), file('disk/upper/a')], /exists/],
    [
      'links to what is not in it',
      [{ path: 'disk/upper/h', type: 'hardlink', target: 'disk/../../victim' }],
      /not a path/,
    ],
    [
      'links through a link',
      [link('disk/upper/l', '../../../../victim'), { path: 'disk/upper/h', type: 'hardlink', target: 'disk/upper/l' }],
      /Invalid/,
    ],
    ['has files without a directory', [file('disk/upper/none/a')], /No such file/],
    ['has an owner of the host', [{ path: 'disk/upper/a', uid: 1_000_000 }], /owner/],
    ['has memory that is a link', [link('memory/ram', '/etc/passwd')], /does not belong/],
    ['has memory in directories', [file('memory/a/b')], /does not belong/],
  ])('that %s is refused', async (_, entries, message) => {
    await writeFile(victim(), 'untouched')
    await expectRefusal(
      makeTar([head(), ...(entries[0]?.path.startsWith('memory') === true ? [] : [upper]), ...entries, CHECKSUMS]),
      message,
    )
    expect((await stat(victim())).size).toBe(9)
    expect((await readdir(paths.home)).toSorted()).toEqual(['store', 'victim'])
  })

  it('may not make the layer itself a link', async () => {
    await expectRefusal(makeTar([head(), link('disk/upper', '/etc')]), /does not belong/)
  })

  it('may not bring devices, or attributes that mean something to the host', async () => {
    const device = makeTar([{ path: 'disk/upper/sda', type: 'device' }])
    device.write('0000010\u00000000001\u0000', 329, 'latin1')
    resum(device)
    const start = makeTar([head(), upper]).subarray(0, -TAR_END.length)
    await expectRefusal(Buffer.concat([start, device]), /device/)
    for (const key of [
      'security.capability',
      'trusted.overlay.redirect',
      'user.overlay.opaque',
      'system.posix_acl_access',
    ]) {
      await expectRefusal(
        Buffer.concat([start, extended({ [`SCHILY.xattr.${key}`]: 'x' }, 'x'), TAR_END]),
        /extended attribute/,
      )
    }
  })

  it('may not have files with impossible holes', async () => {
    const start = makeTar([head(), upper]).subarray(0, -TAR_END.length)
    const sparse = (size: string): Record<string, string> => ({
      'GNU.sparse.major': '1',
      'GNU.sparse.minor': '0',
      'GNU.sparse.name': 'disk/upper/sparse',
      'GNU.sparse.realsize': size,
    })
    const cases: [string, string, RegExp][] = [
      ['9007199254740993', '0\n', /unknown kind/],
      ['900719925474099', '0\n', /larger than/],
      ['100', '2\n0\n10\n5\n10\n', /overlaps/],
      ['100', '1\n90\n20\n', /overlaps/],
      ['100', '1\n0\n50\n', /another size/],
      ['100', '999999\n', /too many/],
      ['100', 'x\n', /broken/],
    ]
    for (const [size, map, message] of cases) {
      const content = map.padEnd(512, '\0')
      await expectRefusal(Buffer.concat([start, extended(sparse(size), content), TAR_END]), message)
    }
  })

  it('is stopped at its limits', async () => {
    const entries = Array.from({ length: 20 }, (_, index) => file(`disk/upper/${index}`))
    await expectRefusal(makeTar([head(), upper, ...entries]), /more than 10 entries/, { limits: { entries: 10 } })
    const long = { path: 'disk/upper/long', content: Buffer.alloc(20_000) }
    await expectRefusal(makeTar([head(), upper, long]), /more than 10000 bytes/, { limits: { totalBytes: 10_000 } })
    await expectRefusal(makeTar([head(), upper, long]), /larger than/, { limits: { fileBytes: 1000 } })
    await expectRefusal(makeTar([head()]), /too large/, { limits: { manifestBytes: 100 } })
    const parts = [file('memory/a'), file('memory/b')]
    await expectRefusal(makeTar([head(), ...parts]), /does not belong/, { limits: { memoryFiles: 1 } })
  })
})

function extended(records: Record<string, string>, content: string): Buffer {
  const rest = { type: 'file', target: '', mode: 0o644, uid: 0, gid: 0, modifiedMs: 0 } as const
  const header = tarHeader({ path: 'disk/upper/sparse', ...rest, size: content.length }, records)
  return Buffer.concat([header, Buffer.from(content), tarPadding(content.length)])
}

/** The checksum of the first header, after a change of it. */
function resum(bytes: Buffer): void {
  bytes.fill(32, 148, 156)
  const sum = bytes.subarray(0, 512).reduce((total, byte) => total + byte, 0)
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
}
