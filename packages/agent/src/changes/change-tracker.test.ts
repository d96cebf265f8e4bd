import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Sandbox } from '@hearth/contract'
import { TAR_END, tarHeader, tarPadding, type TarHeader } from '@hearth/engine/tar'
import { afterAll, describe, expect, it } from 'vitest'
import { ChangeTracker } from './change-tracker.ts'
import { looksLikeTest, type Changes } from './changes.ts'

const directory = mkdtempSync(join(tmpdir(), 'hearth-changes-'))
afterAll(() => rmSync(directory, { recursive: true }))

type Entry = Partial<TarHeader> & { readonly path: string; readonly content?: string | Buffer }

/** Files that send whatever archive they are given, as a hostile sandbox could. */
function sandboxOf(entries: readonly Entry[]): Sandbox {
  const archive = async function* (): AsyncGenerator<Uint8Array, void> {
    for (const { content = '', ...header } of entries) {
      const body = Buffer.from(content)
      const common = {
        type: 'file' as const,
        target: '',
        mode: 0o644,
        uid: 0,
        gid: 0,
        modifiedMs: 0,
        size: body.length,
      }
      yield tarHeader({ ...common, ...header })
      yield body
      yield await Promise.resolve(tarPadding(body.length))
    }
    yield TAR_END
  }
  return { files: { archive, exists: () => Promise.resolve(true) } } as unknown as Sandbox
}

async function difference(before: readonly Entry[], after: readonly Entry[]): Promise<Changes> {
  await using tracker = await ChangeTracker.open(null)
  const base = await tracker.begin(sandboxOf(before), '/w')
  return await tracker.changes(base, sandboxOf(after), '/w')
}

describe('changes of a working directory', () => {
  it('are contents, modes, links and what came and went', async () => {
    const before: Entry[] = [
      { path: 'same', content: 'same' },
      { path: 'text', content: 'old\n' },
      { path: 'gone', content: 'gone\n' },
      { path: 'mode', content: 'x' },
      { path: 'binary', content: Buffer.from([0, 1, 2]) },
    ]
    const { files, patch } = await difference(before, [
      { path: 'same', content: 'same' },
      { path: 'text', content: 'new\n' },
      { path: 'mode', content: 'x', mode: 0o755 },
      { path: 'binary', content: Buffer.from([0, 1, 3]) },
      { path: 'link', type: 'symlink', target: 'text' },
      { path: 'again', type: 'hardlink', target: 'same' },
      { path: 'na"me\\with\tall', content: 'new\n' },
    ])
    expect(files.map(({ path, added, removed }) => [path, added, removed])).toEqual([
      ['again', 1, 0],
      ['binary', null, null],
      ['gone', 0, 1],
      ['link', 1, 0],
      ['mode', 0, 0],
      ['na"me\\with\tall', 1, 0],
      ['text', 1, 1],
    ])
    expect(Buffer.from(patch).toString()).toMatch(/GIT binary patch/)
  })

  it('do not hold what the base ignores, whatever is said later', async () => {
    const rules: Entry[] = [
      { path: '.gitignore', content: 'build/\n*.log\n' },
      { path: 'deep/.gitignore', content: '!kept.log\n' },
      { path: 'build/before', content: 'before' },
    ]
    const { files } = await difference(rules, [
      { path: '.gitignore', content: '*\n' },
      { path: 'deep/.gitignore', content: '!kept.log\n' },
      { path: 'build/after', content: 'after' },
      { path: 'some.log', content: 'log' },
      { path: 'deep/kept.log', content: 'log' },
      { path: 'new', content: 'new' },
      { path: 'src/__pycache__/x.pyc', content: 'x' },
    ])
    expect(files.map(({ path }) => path)).toEqual(['.gitignore', 'deep/kept.log', 'new'])
  })

  it('never hold what git could take for its own, nor what leads elsewhere', async () => {
    const { files } = await difference(
      [],
      [
        { path: '.git/config', content: '[core]\n\tfsmonitor = touch /tmp/owned\n' },
        { path: 'sub/.GIT/hooks/post-checkout', content: 'x' },
        { path: '../outside', content: 'x' },
        { path: '/absolute', content: 'x' },
        { path: './plain', content: 'x' },
        { path: 'sub/../../up', content: 'x' },
        { path: 'device', type: 'fifo' },
      ],
    )
    expect(files.map(({ path }) => path)).toEqual(['absolute', 'plain'])
  })

  it('hold what is tracked although it is ignored, in any version of an index', async () => {
    for (const version of ['2', '4']) {
      const place = join(directory, `tracked-${version}`)
      mkdirSync(join(place, 'build/deep'), { recursive: true })
      const run = (...args: string[]): void => void execFileSync('git', args, { cwd: place })
      for (const path of ['build/kept', 'build/deep/kept-too', 'plain', '.gitignore'])
        writeFileSync(join(place, path), path === '.gitignore' ? 'build/\n' : 'one\n')
      run('init', '--quiet')
      run('add', '--force', '.')
      run('update-index', '--index-version', version)
      const index = { path: './.git/index', content: readFileSync(join(place, '.git/index')) }
      const before = [index, { path: '.gitignore', content: 'build/\n' }, { path: 'build/kept', content: 'one\n' }]
      const { files } = await difference(before, [
        index,
        { path: '.gitignore', content: 'build/\n' },
        { path: 'build/kept', content: 'two\n' },
        { path: 'build/deep/kept-too', content: 'two\n' },
        { path: 'build/made', content: 'x' },
      ])
      expect(files.map(({ path }) => path)).toEqual(['build/deep/kept-too', 'build/kept'])
    }
  })

  it('take no harm from an index that is none', async () => {
    const header = Buffer.from('DIRC\0\0\0\x02\xff\xff\xff\xff', 'latin1')
    for (const content of [header, Buffer.concat([header, Buffer.alloc(200, 0x41)]), Buffer.from('DIRC')]) {
      const { files } = await difference([{ path: '.git/index', content }], [{ path: ':(top)new', content: 'x' }])
      expect(files.map(({ path }) => path)).toEqual([':(top)new'])
    }
  })

  it('are counted without what is ignored, however much of it there is', async () => {
    const limits = { entries: 3, bytes: 10 }
    const ignored = Array.from({ length: 5 }, (_, index) => ({ path: `out/${index}`, content: 'x'.repeat(20) }))
    // The rules may come after what they are about.
    const base = [{ path: '.git/objects/pack/p', content: 'x'.repeat(100) }, ...ignored, { path: 'a', content: 'a\n' }]
    const rules = { path: '.gitignore', content: 'out/\n' }
    await using tracker = await ChangeTracker.open(null, limits)
    const commit = await tracker.begin(sandboxOf([...base, rules]), '/w')
    const after = sandboxOf([...ignored, { path: 'a', content: 'b\n' }, rules])
    expect((await tracker.changes(commit, after, '/w')).files.map(({ path }) => path)).toEqual(['a'])
    const tree = execFileSync('git', ['--git-dir', tracker.directory, 'ls-tree', '-r', '--name-only', commit])
    expect(tree.toString()).toBe('.gitignore\na\n')
  })

  it('are refused when there are too many, and say so', async () => {
    await using tracker = await ChangeTracker.open(null, { entries: 3, bytes: 10 })
    const many = Array.from({ length: 5 }, (_, index) => ({ path: `file-${index}`, content: 'x' }))
    await expect(tracker.begin(sandboxOf(many), '/w')).rejects.toThrow(/cannot be read: .*more than 3 files/)
    await expect(tracker.begin(sandboxOf([{ path: 'big', content: 'x'.repeat(11) }]), '/w')).rejects.toThrow(
      /cannot be read/,
    )
    expect(await tracker.begin(sandboxOf([]), '/w')).toMatch(/^[0-9a-f]{40}$/)
  })

  it.each([
    ['entries', { entries: 3 }, /more than 3 entries/],
    ['bytes', { bytes: 50 }, /more than 50 bytes/],
    ['bytes of names', { nameBytes: 20 }, /names have more than 20 bytes/],
  ])('are refused when even with what is ignored there are too many %s', async (_what, archive, problem) => {
    const ignored = Array.from({ length: 5 }, (_, index) => ({ path: `out/${index}`, content: 'x'.repeat(20) }))
    const all = [{ path: '.gitignore', content: 'out/\n' }, ...ignored]
    await using tracker = await ChangeTracker.open(null, { entries: 2, archive })
    await expect(tracker.begin(sandboxOf(all), '/w')).rejects.toThrow(problem)
  })

  it('do not ask an index that is too large what is tracked', async () => {
    const all = [
      { path: '.gitignore', content: 'out/\n' },
      { path: '.git/index', content: 'DIRC'.repeat(100) },
    ]
    await using tracker = await ChangeTracker.open(null, { archive: { indexBytes: 100 } })
    const commit = await tracker.begin(sandboxOf(all), '/w')
    const after = sandboxOf([
      { path: '.gitignore', content: 'out/\n' },
      { path: 'out/x', content: 'x' },
    ])
    expect((await tracker.changes(commit, after, '/w')).files).toEqual([])
  })

  it('of a large directory in which little is ignored are read once each time, after the first', async () => {
    const many = Array.from({ length: 21_000 }, (_, index) => ({
      path: `d${index % 50}/f${index}`,
      content: `${index}`,
    }))
    const counted = (entries: readonly Entry[]): { sandbox: Sandbox; read: () => number } => {
      let read = 0
      const { files } = sandboxOf(entries)
      const archive = (path: string): AsyncIterable<Uint8Array> => (read++, files.archive(path))
      return { sandbox: { files: { ...files, archive } } as unknown as Sandbox, read: () => read }
    }
    const [before, after] = [counted(many), counted([...many, { path: 'new', content: 'new' }])]
    await using tracker = await ChangeTracker.open(null)
    const commit = await tracker.begin(before.sandbox, '/w')
    const { files } = await tracker.changes(commit, after.sandbox, '/w')
    expect([files.map(({ path }) => path), before.read(), after.read()]).toEqual([['new'], 3, 1])
  })

  it('are counted by another process from the same base', async () => {
    const place = join(directory, 'kept')
    const entries = [{ path: 'a', content: 'a\n' }]
    const base = await (await ChangeTracker.open(place)).begin(sandboxOf(entries), '/w')
    const second = await ChangeTracker.open(place)
    expect(await second.changes(base, sandboxOf(entries), '/w')).toMatchObject({ files: [] })
    expect((await second.changes(base, sandboxOf([{ path: 'a', content: 'b\n' }]), '/w')).files).toHaveLength(1)
    expect(execFileSync('git', ['--git-dir', place, 'cat-file', '-t', base]).toString()).toBe('commit\n')
  })
})

it.each([
  'tests/x.py',
  'a/test_b.py',
  'a/b.test.ts',
  'a/b_test.go',
  'src/__tests__/a.js',
  'conftest.py',
  'vitest.config.ts',
])('%s looks like a test', (path) => {
  expect(looksLikeTest(path)).toBe(true)
})
it.each(['src/contest.py', 'latest.ts', 'src/testing.ts'])('%s does not', (path) => {
  expect(looksLikeTest(path)).toBe(false)
})
