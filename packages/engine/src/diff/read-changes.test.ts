import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { list, root, summary } from './testing/list.fixture.ts'
import type { TreeSide } from './tree-side.ts'

describe.runIf(root)('differences of stacked layers', () => {
  let folder: string
  let mounted = false
  let template: string
  let upper: string
  let merged: string
  let templateSide: TreeSide
  let side: TreeSide

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'hearth-diff-'))
    for (const name of ['template', 'upper', 'work', 'merged']) mkdirSync(join(folder, name))
    template = join(folder, 'template')
    upper = join(folder, 'upper')
    merged = join(folder, 'merged')
    templateSide = { layers: [template], subvolume: null }
    side = { layers: [upper, template], subvolume: null }
  })

  /** A real overlay makes the upper directory, so that the test knows nothing about its format. */
  function mount(lower = template): void {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(folder, 'merged')])
    for (const name of ['upper', 'work', 'root']) mkdirSync(join(merged, name))
    upper = join(merged, 'upper')
    execFileSync('mount', [
      '-t',
      'overlay',
      'overlay',
      '-o',
      `lowerdir=${lower},upperdir=${upper},workdir=${join(merged, 'work')}`,
      join(merged, 'root'),
    ])
    side = { layers: [upper, ...lower.split(':')], subvolume: null }
    merged = join(merged, 'root')
    mounted = true
  }

  afterEach(() => {
    if (mounted) {
      execFileSync('umount', [merged])
      execFileSync('umount', [join(folder, 'merged')])
      mounted = false
    }
    rmSync(folder, { recursive: true, force: true })
  })

  it('names what was added, changed and removed, and nothing else', async () => {
    for (const name of ['kept', 'gone', 'old']) mkdirSync(join(template, name))
    for (const name of ['kept/same', 'kept/edit', 'gone/inner', 'old/file', 'loose'])
      writeFileSync(join(template, name), 'before')
    mount()
    writeFileSync(join(merged, 'kept/edit'), 'after!')
    rmSync(join(merged, 'gone'), { recursive: true })
    rmSync(join(merged, 'loose'))
    mkdirSync(join(merged, 'new/deep'), { recursive: true })
    writeFileSync(join(merged, 'new/deep/file'), 'x')
    symlinkSync('../nowhere', join(merged, 'new/link'))
    expect(await summary({ before: templateSide, after: side })).toEqual([
      'removed directory gone',
      'changed file kept/edit',
      'removed file loose',
      'added directory new',
      'added directory new/deep',
      'added file new/deep/file',
      'added symlink new/link',
    ])
    expect(
      (await list({ before: templateSide, after: side })).find(({ record }) => record.type === 'symlink')?.record
        .target,
    ).toBe('../nowhere')
  })

  it('sees through a copy-up that changed nothing, and sees what only metadata tells', async () => {
    for (const name of ['touched', 'mode', 'owner', 'rewritten', 'sneaky'])
      writeFileSync(join(template, name), 'content')
    mount()
    utimesSync(join(merged, 'touched'), 1, 1)
    chmodSync(join(merged, 'mode'), 0o600)
    chownSync(join(merged, 'owner'), 7, 7)
    writeFileSync(join(merged, 'rewritten'), 'content')
    const { atime, mtime } = statSync(join(template, 'sneaky'))
    writeFileSync(join(merged, 'sneaky'), 'CONTENT')
    utimesSync(join(merged, 'sneaky'), atime, mtime)
    expect(await summary({ before: templateSide, after: side })).toEqual([
      'changed file mode',
      'changed file owner',
      'changed file sneaky',
    ])
  })

  it('knows a directory that took the place of another, and changes of type', async () => {
    mkdirSync(join(template, 'dir/sub'), { recursive: true })
    writeFileSync(join(template, 'dir/one'), '1')
    writeFileSync(join(template, 'dir/two'), '2')
    writeFileSync(join(template, 'dir/sub/three'), '3')
    writeFileSync(join(template, 'file'), 'f')
    mkdirSync(join(template, 'folder'))
    writeFileSync(join(template, 'folder/inner'), 'f')
    mount()
    rmSync(join(merged, 'dir'), { recursive: true })
    mkdirSync(join(merged, 'dir/sub'), { recursive: true })
    writeFileSync(join(merged, 'dir/two'), '2')
    rmSync(join(merged, 'file'))
    mkdirSync(join(merged, 'file'))
    writeFileSync(join(merged, 'file/inside'), '')
    rmSync(join(merged, 'folder'), { recursive: true })
    symlinkSync('dir', join(merged, 'folder'))
    expect(await summary({ before: templateSide, after: side })).toEqual([
      'removed file dir/one',
      'removed file dir/sub/three',
      'changed directory file',
      'added file file/inside',
      'changed symlink folder',
    ])
  })

  it('takes an attribute for opaque only when the mount could have set it', async () => {
    mkdirSync(join(template, 'dir'))
    writeFileSync(join(template, 'dir/file'), 'x')
    mount()
    const set = 'import os, sys; os.setxattr(sys.argv[1], "user.overlay.opaque", b"y")'
    execFileSync('python3', ['-c', set, join(merged, 'dir')])
    expect(await summary({ before: templateSide, after: side })).toEqual([])
  })

  it('compares with layers below, and looks only at what lies above them', async () => {
    const snapshot = join(folder, 'snapshot')
    mkdirSync(join(snapshot, 'dir'), { recursive: true })
    mkdirSync(join(template, 'dir'))
    writeFileSync(join(template, 'dir/file'), 'template')
    writeFileSync(join(snapshot, 'dir/file'), 'snapshot')
    mount(`${snapshot}:${template}`)
    writeFileSync(join(merged, 'dir/other'), 'fork')
    const before = { layers: [snapshot, template], subvolume: null }
    expect(await summary({ before, after: side })).toEqual(['added file dir/other'])
    expect(await summary({ before, after: side, limits: { entries: 2 } })).toEqual(['added file dir/other'])
    expect(await summary({ before: templateSide, after: side })).toEqual([
      'changed file dir/file',
      'added file dir/other',
    ])
    // Two states side by side, without anything in common above the template.
    expect(await summary({ before: side, after: before })).toEqual(['removed file dir/other'])
  })

  it('withstands names, links and trees of a hostile sandbox', async () => {
    mkdirSync(join(template, 'etc'))
    mount()
    const names = ['new\nline', '+plus', '=x', 'a b', '\u001b[31m', '..x', 'é']
    for (const name of names) writeFileSync(join(merged, name), name)
    writeFileSync(Buffer.concat([Buffer.from(`${merged}/`), Buffer.from([0xff, 0xfe])]), 'bytes')
    symlinkSync('/etc/passwd', join(merged, 'link'))
    symlinkSync('loop', join(merged, 'loop'))
    rmSync(join(merged, 'etc'), { recursive: true })
    symlinkSync('/etc', join(merged, 'etc'))
    execFileSync('mkfifo', [join(merged, 'pipe')])
    const changes = await list({ before: templateSide, after: side, contentBytes: 100 })
    expect(changes.map(({ record }) => record.path).toSorted()).toEqual(
      [
        ...names.map((name) => Buffer.from(name).toString('latin1')),
        '\u00ff\u00fe',
        'etc',
        'link',
        'loop',
        'pipe',
      ].toSorted(),
    )
    expect(changes.find(({ record }) => record.path === '\u00ff\u00fe')?.content).toEqual(Buffer.from('bytes'))
    expect(
      await summary({
        before: templateSide,
        after: side,
        chosen: { paths: ['etc/passwd', '../../etc', ''], deep: false },
      }),
    ).toEqual([])
    expect(
      await summary({
        before: templateSide,
        after: side,
        chosen: { paths: ['new\nline', '\u00ff\u00fe'], deep: true },
      }),
    ).toEqual(['added file new\nline', 'added file \u00ff\u00fe'])
  })

  it('refuses trees beyond its limits, and says which', async () => {
    mount()
    for (let i = 0; i < 20; i++) writeFileSync(join(merged, `file-${i}`), 'x')
    await expect(list({ before: templateSide, after: side, limits: { changes: 19 } })).rejects.toMatchObject({
      code: 'too_many',
    })
    await expect(list({ before: templateSide, after: side, limits: { textBytes: 100 } })).rejects.toMatchObject({
      code: 'too_many',
    })
    await expect(list({ before: templateSide, after: side, limits: { entries: 19 } })).rejects.toMatchObject({
      code: 'too_many',
    })
    expect(await list({ before: templateSide, after: side, limits: { changes: 20, entries: 20 } })).toHaveLength(20)
    execFileSync('mkdir', ['-p', join(merged, 'd/'.repeat(600))])
    await expect(list({ before: templateSide, after: side })).rejects.toMatchObject({ code: 'file_failed' })
  })

  it('reads no more than allowed to find files equal, and gives no more content than allowed', async () => {
    for (const name of ['one', 'two']) writeFileSync(join(template, name), 'x'.repeat(1000))
    mount()
    for (const name of ['one', 'two']) writeFileSync(join(merged, name), 'x'.repeat(1000))
    writeFileSync(join(merged, 'sparse'), '')
    truncateSync(join(merged, 'sparse'), 2 ** 42)
    expect(await summary({ before: templateSide, after: side })).toEqual(['added file sparse'])
    expect(await summary({ before: templateSide, after: side, limits: { compareFileBytes: 999 } })).toHaveLength(3)
    expect(await summary({ before: templateSide, after: side, limits: { compareBytes: 1999 } })).toHaveLength(2)
    const contents = async (contentBytes: number, all: number) =>
      (
        await list({
          before: templateSide,
          after: side,
          contentBytes,
          limits: { compareFileBytes: 999, contentBytes: all },
        })
      ).map(({ content }) => content?.length)
    expect(await contents(1000, 5000)).toEqual([1000, undefined, 1000])
    expect(await contents(999, 5000)).toEqual([undefined, undefined, undefined])
    expect(await contents(1000, 1999)).toEqual([1000, undefined, undefined])
  })

  it('says why it fails', async () => {
    await expect(
      list({ before: templateSide, after: { layers: [join(folder, 'absent')], subvolume: null } }),
    ).rejects.toThrow(/No such file/)
    await expect(list({ before: templateSide, after: side, signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    })
  })
})
