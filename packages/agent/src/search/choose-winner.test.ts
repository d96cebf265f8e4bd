import { describe, expect, it } from 'vitest'
import { chooseWinner, countVotes, isSettled } from './choose-winner.ts'
import { guard, pathsOfCommand } from './guarded-paths.ts'
import { normalisedChange } from './normalised-change.ts'
import { judgedConfiguration } from './runner-configuration.ts'
import type { CandidateReport } from './search-types.ts'

const BASE = { passing: ['old'], failing: ['new'], flaky: ['coin'], targets: ['new'] }

function report(index: number, given: Partial<CandidateReport> = {}): CandidateReport {
  return {
    index,
    name: `candidate ${index + 1}`,
    outcome: 'passed',
    detail: '',
    sameAs: null,
    agreement: 1,
    cluster: 1,
    verdict: { old: true, new: true },
    behaviour: {},
    fixed: ['new'],
    unfixed: [],
    broken: [],
    testEdits: [],
    files: [],
    changedLines: 5,
    patch: Buffer.from(`diff --git a/x b/x\n+${index}\n`),
    attemptMs: 0,
    judgeMs: 0,
    ...given,
  }
}

const patch = (text: string): Uint8Array => Buffer.from(`diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n${text}`)

describe('the choice of a winner', () => {
  it('goes by results, then by changes, then by edits of tests, then by size', async () => {
    const reports = countVotes(
      [
        report(0, { changedLines: 1, behaviour: { probe: 'hard-coded' } }),
        report(1, { changedLines: 9, behaviour: { probe: 'right' }, patch: patch('-a\n+b\n') }),
        report(2, { changedLines: 3, behaviour: { probe: 'right' }, testEdits: ['test.py'] }),
        report(3, { changedLines: 9, behaviour: { probe: 'right' }, patch: patch('-a\n+  b\n\n+\n') }),
      ],
      BASE,
    )
    expect(reports.map(({ cluster, agreement }) => [cluster, agreement])).toEqual([
      [1, 1],
      [3, 2],
      [3, 1],
      [3, 2],
    ])
    expect((await chooseWinner(reports, BASE)).winner?.index).toBe(1)
    expect((await chooseWinner(reports.slice(0, 1), BASE)).reason).toMatch(/^the only one that passes/)
  })

  it('counts what is flaky on the base for nothing, and a duplicate as a vote', () => {
    const counted = countVotes(
      [
        report(0, { verdict: { old: true, new: true, coin: true } }),
        report(1, { verdict: { old: true, new: true, coin: false } }),
        report(2, { outcome: 'duplicate', sameAs: 0, verdict: {} }),
        report(3, { outcome: 'broken' }),
      ],
      BASE,
    )
    expect(counted.map(({ cluster, agreement }) => [cluster, agreement])).toEqual([
      [3, 2],
      [3, 1],
      [3, 2],
      [1, 1],
    ])
  })

  it('asks a judge in both orders, and believes only an answer that does not depend on it', async () => {
    const two = [report(0, { changedLines: 1 }), report(1)]
    const always = async (answer: 'first' | 'second' | 'neither') =>
      await chooseWinner(two, BASE, () => Promise.resolve(answer))
    expect(await always('first')).toMatchObject({ winner: { index: 0 }, preferences: [{ preferred: null }] })
    expect(await always('neither')).toMatchObject({ winner: { index: 0 }, preferences: [{ preferred: null }] })
    const second = await chooseWinner(two, BASE, (one) => Promise.resolve(one.index === 1 ? 'first' : 'second'))
    expect(second).toMatchObject({ winner: { index: 1 }, preferences: [{ first: 0, second: 1, preferred: 1 }] })
    expect(second.reason).toContain('the judge prefers it')
    const failing = await chooseWinner(two, BASE, () => Promise.reject(new Error('no key')))
    expect(failing).toMatchObject({ winner: { index: 0 }, preferences: [{ preferred: null, detail: 'no key' }] })
    const many = Array.from({ length: 10 }, (_, index) => report(index))
    expect((await chooseWinner(many, BASE, () => Promise.resolve('neither'))).preferences).toHaveLength(3)
  })

  it('is never made among those that do not pass', async () => {
    const prefer = (): never => {
      throw new Error('asked')
    }
    const none = await chooseWinner([report(0, { outcome: 'failed' }), report(1, { outcome: 'flaky' })], BASE, prefer)
    expect(none).toEqual({
      winner: null,
      reason: 'no winner: no candidate passes what it must; 1 passed only at times',
      preferences: [],
    })
  })

  it('is settled when the others cannot change it', () => {
    const three = [
      report(0, { patch: patch('+a') }),
      report(1, { patch: patch('+a') }),
      report(2, { outcome: 'failed' }),
    ]
    expect(isSettled(three, BASE, 1, 'settled')).toBe(true)
    expect(isSettled(three, BASE, 2, 'settled')).toBe(false)
    expect(isSettled([...three, report(3)], BASE, 1, 'settled')).toBe(false)
    expect(isSettled(three, BASE, 2, 2)).toBe(true)
    expect(isSettled(three, BASE, 2, 3)).toBe(false)
    expect(isSettled(three, BASE, 2, undefined)).toBe(false)
    expect(isSettled([report(0, { outcome: 'failed' })], BASE, 1, 1)).toBe(false)
  })
})

describe('a normalised change', () => {
  it('is the same wherever it stands and however it is spaced', () => {
    expect(normalisedChange(patch(' context\n-a\n+b  c\n'))).toBe(normalisedChange(patch(' other\n-a\n+\tb c\n+\n')))
    expect(normalisedChange(patch('-a\n+b\n'))).not.toBe(normalisedChange(patch('-b\n+a\n')))
    expect(normalisedChange(patch('-a\n'))).not.toBe(normalisedChange(patch('+a\n')))
    expect(normalisedChange(Buffer.from('diff --git a/x b/x\nnew file mode 100755\n'))).not.toBe(
      normalisedChange(Buffer.from('diff --git a/x b/x\nnew file mode 100644\n')),
    )
  })
})

describe('what is judged as it is on the base', () => {
  it.each([
    ['sh verify.sh', ['verify.sh']],
    ['./scripts/run-tests.sh --fast', ['scripts/run-tests.sh']],
    ['make check', ['Makefile', 'makefile', 'GNUmakefile']],
    ['test "$(sh add.sh 2 3)" = 5', []],
    ['npm test', []],
  ])('%s', (command, paths) => {
    expect(pathsOfCommand(command)).toEqual(paths)
  })

  it('is what was named, and tests in any case', () => {
    const guarded = guard(['verify.sh', 'ci/'])
    expect(['verify.sh', 'ci/run', 'tests/a.py', 'unittest.py'].every(guarded)).toBe(true)
    expect(['src/a.py', 'src/verify.sh', 'cia'].some(guarded)).toBe(false)
  })

  it('are what runs tests and what configures that, under the names that it has', () => {
    const guarded = guard([])
    const installed = [
      'node_modules/.bin/node',
      'a/node_modules/jest/index.js',
      '.venv/bin/pytest',
      'pytest/__init__.py',
    ]
    expect(installed.filter((name) => !guarded(name))).toEqual([])
    const names = ['.pytest.ini', 'pytest.toml', '.rspec', 'phpunit.xml', 'bunfig.toml', 'a/.cargo/config.toml']
    expect(names.filter((name) => !guarded(name))).toEqual([])
    expect(['cargo/config.toml', 'src/pytests.py', 'java.py'].some(guarded)).toBe(false)
  })

  const judged = (before: string | null, after: string | null, path = 'package.json') => {
    const { content, isHeld } = judgedConfiguration(path, before, after)
    return [content === null || path !== 'package.json' ? content : (JSON.parse(content) as unknown), isHeld]
  }

  it('are the scripts of a package and what runners read in it, and nothing else of it', () => {
    const before = '{"scripts":{"test":"node --test"},"jest":{"bail":1}}'
    const decided = { scripts: { test: 'node --test' }, jest: { bail: 1 } }
    expect(judged(before, '{"name":"x","scripts":{"test":"true"}}')).toEqual([{ name: 'x', ...decided }, true])
    expect(judged(before, '{"jest":{"bail":1},"name":"y","scripts":{"test":"node --test"}}')).toEqual([
      { name: 'y', ...decided },
      false,
    ])
    expect(judged(null, '{"scripts":{"test":"true"}}')).toEqual([{}, true])
    expect(judged(before, null)).toEqual([null, true])
    expect(judged('{"name":"x"}', null)).toEqual([null, false])
    // npm reads what begins with a mark of its encoding.
    for (const odd of ['no JSON', '[]', '\ufeff{"scripts":{"test":"true"}}'])
      expect(judged(before, odd)).toEqual([null, true])
    // Others take the first of two.
    const twice = judgedConfiguration(
      'package.json',
      before,
      '{"scripts":{"test":"true"},"scripts":{"test":"node --test"}}',
    )
    expect(twice.content).not.toContain('true')
  })

  it('is how Python is tested, wherever it is written', () => {
    const before = '[project]\nname = "x"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n'
    const other = before.replace('"x"', '"y"')
    expect(judged(before, other, 'pyproject.toml')).toEqual([other, false])
    for (const after of [
      before.replace('-q', '--collect-only'),
      `tool.pytest.ini_options.addopts = "--co"\n${before}`,
      `${before}testpaths = ["none"]\n`,
      `${before}\n[tool."p\\u0079test".ini_options]\naddopts = "--co"\n`,
      '',
      null,
    ]) {
      expect(judged(before, after, 'lib/pyproject.toml'), after ?? 'removed').toEqual([null, true])
    }
    expect(judged(null, '[tool:pytest]\naddopts = --co\n', 'setup.cfg')).toEqual([null, true])
    expect(judged(null, '[metadata]\nname = x\n', 'setup.cfg')).toEqual(['[metadata]\nname = x\n', false])
  })
})
