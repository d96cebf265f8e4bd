import { execFileSync } from 'node:child_process'
import {
  linkSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { guest, root, summary } from './testing/list.fixture.ts'
import { subvolumeSide, type TreeSide } from './tree-side.ts'

describe.runIf(root)('differences of btrfs snapshots', () => {
  let folder: string
  let store: string
  let template: string
  let number = 0

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'hearth-diff-'))
    store = join(folder, 'store')
    template = join(folder, 'template')
    mkdirSync(store)
    mkdirSync(template)
    execFileSync('truncate', ['-s', '512M', join(folder, 'image')])
    execFileSync('mkfs.btrfs', ['-q', join(folder, 'image')], { env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } })
    execFileSync('mount', ['-o', 'loop', join(folder, 'image'), store])
    writeFileSync(join(template, 'lower'), 'lower')
  })

  afterAll(() => {
    execFileSync('umount', [store])
    rmSync(folder, { recursive: true, force: true })
  })

  function make(): { area: string; upper: string } {
    const area = join(store, `area-${number++}`)
    execFileSync(guest, ['store', 'subvolume-create', area])
    mkdirSync(join(area, 'upper'))
    return { area, upper: join(area, 'upper') }
  }

  function capture(area: string): TreeSide {
    const path = join(store, `snapshot-${number++}`)
    execFileSync(guest, ['store', 'snapshot', area, path, 'ro'])
    return subvolumeSide(path, [template])
  }

  it('agree with a walk of both, whatever was done', async () => {
    const { area, upper } = make()
    for (const name of ['a', 'b', 'swap1', 'swap2', 'moved', 'gone']) {
      mkdirSync(join(upper, name))
      for (const file of ['x', 'y']) writeFileSync(join(upper, name, file), `${name}${file}`.padEnd(9000, '.'))
    }
    linkSync(join(upper, 'a/x'), join(upper, 'b/linked'))
    writeFileSync(join(upper, 'grow'), 'g')
    const before = capture(area)
    writeFileSync(join(upper, 'a/x'), 'changed through one of its names')
    truncateSync(join(upper, 'a/y'), 10)
    renameSync(join(upper, 'swap1'), join(upper, 'tmp'))
    renameSync(join(upper, 'swap2'), join(upper, 'swap1'))
    renameSync(join(upper, 'tmp'), join(upper, 'swap2'))
    renameSync(join(upper, 'moved'), join(upper, 'b/moved'))
    writeFileSync(join(upper, 'b/moved/x'), 'edited behind the move')
    rmSync(join(upper, 'gone'), { recursive: true })
    writeFileSync(join(upper, 'grow'), 'grown')
    lutimesSync(join(upper, 'b/y'), 5, 5)
    mkdirSync(join(upper, 'fresh/inner'), { recursive: true })
    symlinkSync('x', join(upper, 'fresh/inner/link'))
    execFileSync('mknod', [join(upper, 'lower'), 'c', '0', '0'])
    const after = capture(area)
    const fast = await summary({ before, after })
    expect(fast).toEqual(await summary({ before: { ...before, subvolume: null }, after }))
    expect(fast).toEqual([
      'changed file a/x',
      'changed file a/y',
      'changed file b/linked',
      'added directory b/moved',
      'added file b/moved/x',
      'added file b/moved/y',
      'added directory fresh',
      'added directory fresh/inner',
      'added symlink fresh/inner/link',
      'removed directory gone',
      'changed file grow',
      'removed file lower',
      'removed directory moved',
      'changed file swap1/x',
      'changed file swap1/y',
      'changed file swap2/x',
      'changed file swap2/y',
    ])
    const back = await summary({ before: after, after: before })
    expect(back).toEqual(await summary({ before: after, after: { ...before, subvolume: null } }))
  })

  it('takes time for what changed, not for what is there', async () => {
    const { area, upper } = make()
    for (let i = 0; i < 50; i++) {
      mkdirSync(join(upper, `d${i}`))
      for (let j = 0; j < 100; j++) writeFileSync(join(upper, `d${i}`, `f${j}`), `${i} ${j}`)
    }
    const before = capture(area)
    for (let i = 0; i < 50; i++) writeFileSync(join(upper, `d${i}`, 'f7'), 'changed')
    const after = capture(area)
    // 50 directories and 50 files are looked at, of 5050: a walk would be refused.
    const changes = await summary({ before, after, limits: { entries: 100 } })
    expect(changes).toHaveLength(50)
    await expect(
      summary({ before: { ...before, subvolume: null }, after, limits: { entries: 100 } }),
    ).rejects.toMatchObject({ code: 'too_many' })
    expect(await summary({ before, after, chosen: { paths: ['d3', 'd40/f7', 'd41/f8'], deep: true } })).toEqual([
      'changed file d3/f7',
      'changed file d40/f7',
    ])
  })
})
