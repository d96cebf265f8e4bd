import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PROGRAM, TestKeeper, eventually, frame } from './keeper-harness.ts'

const MEGABYTE = 1_000_000

const canMount =
  process.getuid?.() === 0 &&
  existsSync('/dev/loop-control') &&
  ['/sbin', '/usr/sbin'].some((folder) => existsSync(join(folder, 'mkfs.btrfs')))

function store(...words: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(PROGRAM, ['store', ...words], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${status}: ${stderr}`)
  return stdout.trim()
}

const EDQUOT = -122
const EROFS = -30

/** The error number of a write of so many bytes, or undefined. */
function fill(path: string, bytes: number): number | undefined {
  try {
    for (let written = 0; written < bytes; written += MEGABYTE)
      writeFileSync(path, Buffer.alloc(MEGABYTE, 1), { flag: 'a', flush: true })
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).errno
  }
}

describe.runIf(canMount)('the store on btrfs', () => {
  let folder: string
  let mount: string
  let off: string

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'store-'))
    mount = join(folder, 'mount')
    mkdirSync(mount)
    const image = join(folder, 'image')
    execFileSync('truncate', ['-s', '1G', image])
    execFileSync('mkfs.btrfs', ['-q', image], { env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } })
    execFileSync('mount', ['-o', 'loop', image, mount])
    off = store('quota', mount)
    store('quota-enable', mount)
  })

  afterAll(() => {
    execFileSync('umount', [mount])
    rmSync(folder, { recursive: true, force: true })
  })

  it('can be told twice to count', () => {
    expect(store('quota-enable', mount)).toBe('')
    expect([off, store('quota', mount)]).toEqual(['off', 'on'])
  })

  it('makes a file without copy-on-write, also where files are compressed, and never of one that is there', () => {
    const directory = join(mount, 'compressed')
    mkdirSync(directory)
    execFileSync('chattr', ['+c', directory])
    const path = join(directory, 'file')
    store('in-place-file', path)
    expect(execFileSync('lsattr', [path], { encoding: 'utf8' })).toMatch(/^[^c ]*C[^c ]* /)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(() => store('in-place-file', path)).toThrow(/^1: 17 in-place-file/)
    rmSync(directory, { recursive: true })
  })

  it('limits a subvolume and deletes it', () => {
    const path = join(mount, 'limited')
    store('subvolume-create', path)
    store('limit', path, String(10 * MEGABYTE))
    expect(fill(join(path, 'file'), 30 * MEGABYTE)).toBe(EDQUOT)
    execFileSync('sync', ['-f', mount])
    const usage = Number(store('usage', path))
    expect(usage).toBeGreaterThan(7 * MEGABYTE)
    expect(usage).toBeLessThanOrEqual(10 * MEGABYTE)
    rmSync(join(path, 'file'))
    store('limit', path, '0')
    expect(fill(join(path, 'file'), 20 * MEGABYTE)).toBeUndefined()
    store('subvolume-delete', path)
    expect(existsSync(path)).toBe(false)
  })

  it('takes snapshots, also read-only ones', () => {
    const [source, copy, frozen] = ['source', 'copy', 'frozen'].map((name) => join(mount, name)) as [
      string,
      string,
      string,
    ]
    store('subvolume-create', source)
    writeFileSync(join(source, 'file'), 'one')
    store('snapshot', source, copy)
    store('snapshot', source, frozen, 'ro')
    writeFileSync(join(source, 'file'), 'two')
    expect([copy, frozen].map((path) => readFileSync(join(path, 'file'), 'utf8'))).toEqual(['one', 'one'])
    expect(fill(join(copy, 'other'), 1)).toBeUndefined()
    expect(fill(join(frozen, 'other'), 1)).toBe(EROFS)
    for (const path of [source, copy, frozen]) store('subvolume-delete', path)
  })

  it('says what it is', () => {
    expect(JSON.parse(store('statfs', mount))).toMatchObject({
      type: 'btrfs',
      magic: 0x9123683e,
      totalBytes: 1024 ** 3,
    })
    expect(JSON.parse(store('statfs', '/proc'))).toMatchObject({ type: 'other' })
  })

  it.each([
    [['subvolume-delete', 'nowhere'], /^1: 2 subvolume-delete .*nowhere/],
    [['snapshot', 'nowhere', 'there'], /^1: 2 snapshot/],
    [['snapshot', 'a', 'b', 'rw'], /^1: 22 snapshot: rw is unknown/],
    [['quota', '/proc'], /^1: 25 quota/],
    [['limit', '.', 'much'], /^1: 22 limit: much/],
    [['limit', '.'], /^2: /],
    [['explode'], /^2: /],
  ])('refuses %j', (words, expected) => {
    const [operation, ...paths] = words
    expect(() =>
      store(operation ?? '', ...paths.map((word) => (/nowhere|there/.test(word) ? join(mount, word) : word))),
    ).toThrow(expected)
  })

  it('makes limited subvolumes as a step of a launch', async () => {
    const path = join(mount, 'sandbox')
    for (let round = 0; round < 2; round++) {
      await using keeper = new TestKeeper()
      const steps = [
        'subvolume',
        path,
        String(10 * MEGABYTE),
        'mkdir',
        join(path, 'upper'),
        '0755',
        'mkdir',
        join(path, 'work'),
        '0755',
        'mkdir',
        join(path, 'merged'),
        '0755',
      ]
      steps.push('overlay', join(path, 'merged'), '/usr/lib/tmpfiles.d', join(path, 'upper'), join(path, 'work'), '-')
      await keeper.shell(
        `head -c 20000000 /dev/zero 2>out >${path}/merged/file; sync -f ${path}/upper; mv out done; exec cat`,
        { steps },
      )
      await eventually(() => keeper.has('done'))
      expect(keeper.read('done')).toContain('Disk quota exceeded')
      keeper.connection.send(frame('KeeperEnd', 0, {}))
      expect(await keeper.exited).toBe(0)
      // An overlay whose upper is full is mounted read-only.
      rmSync(join(path, 'upper', 'file'))
      execFileSync('sync', ['-f', path])
    }
    expect(statSync(path).ino).toBe(256)
    store('subvolume-delete', path)
  })
})
