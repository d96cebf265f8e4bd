import { Hearth } from '@hearth/engine'
import type { Sandbox } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  checks,
  ScriptedModel,
  search,
  startAgent,
  type Candidate,
  type Judge,
  type SearchReport,
} from '../src/index.ts'
import { BUG, FIX, makeRepository, WORKDIR } from './support/repository.ts'

const hearth = new Hearth()
let base: Sandbox
beforeAll(async () => {
  base = await hearth.create({ rung: 'process' })
  await makeRepository(base)
})
afterAll(async () => {
  await base.kill()
  await hearth.dispose()
})

const test = (name: string): string => `python3 -m unittest tests.test_parse.ParseTest.${name}`
const TESTS = { one: test('test_one_page'), range: test('test_range'), readme: 'test -s README.md' }
const sed = (expression: string, file = 'ranges/parse.py'): string => `sed -i '${expression}' ${file}`

const RIGHT: Candidate = { name: 'right', command: sed(`s/${BUG}/${FIX}/`) }
const PATCH = [
  '--- a/ranges/parse.py',
  '+++ b/ranges/parse.py',
  '@@ -5,3 +5,3 @@',
  '         first, _, last = piece.partition("-")',
  `-        pages.extend(range(int(first), ${BUG}`,
  `+        pages.extend(range(int(first), ${FIX}`,
  '     return pages',
  '',
].join('\n')
const PARTLY: Candidate = { name: 'partly', command: sed('s/    return pages/    return pages or [int(first)]/') }
const TEST_EDIT: Candidate = {
  name: 'test edit',
  command: sed('s/assertEqual(parse(\\(.*\\)), .*/assertTrue(parse)/', 'tests/test_parse.py'),
}
const BREAKS: Candidate = { name: 'breaks others', command: `${sed(`s/${BUG}/${FIX}/`)}; : > README.md` }
const LONGER: Candidate = { name: 'longer', command: `${sed(`s/${BUG}/${FIX}/`)}; echo '# more' >> ranges/parse.py` }

function outcomes({ candidates }: SearchReport): Record<string, string> {
  return Object.fromEntries(candidates.map(({ name, outcome }) => [name, outcome]))
}

describe('a search', () => {
  it('keeps the change that passes, by execution in clean forks', async () => {
    const report = await search({
      base,
      workdir: WORKDIR,
      judge: checks(TESTS),
      candidates: [
        PARTLY,
        TEST_EDIT,
        BREAKS,
        LONGER,
        RIGHT,
        { name: 'the same', patch: PATCH },
        { name: 'nothing', command: 'mkdir build; touch build/file' },
        { name: 'elsewhere', patch: PATCH.replaceAll('parse.py', 'gone.py') },
        { name: 'leads out', patch: PATCH.replaceAll('ranges/parse.py', '../../etc/passwd') },
        { name: 'fails', command: 'echo why; exit 3' },
      ],
    })
    expect(report.base).toEqual({
      passing: ['readme'],
      failing: ['one', 'range'],
      flaky: [],
      targets: ['one', 'range'],
    })
    expect(outcomes(report)).toEqual({
      partly: 'failed',
      'test edit': 'failed',
      'breaks others': 'failed',
      longer: 'passed',
      right: 'passed',
      'the same': 'duplicate',
      nothing: 'no_change',
      elsewhere: 'does_not_apply',
      'leads out': 'does_not_apply',
      fails: 'broken',
    })
    expect(report.winner).toMatchObject({ name: 'right', agreement: 2, changedLines: 2, fixed: ['one', 'range'] })
    expect(report.reason).toMatch(/^the best of 2 that pass/)
    const [partly, testEdit, breaks] = report.candidates
    expect(partly).toMatchObject({ fixed: ['one'], unfixed: ['range'] })
    expect(testEdit).toMatchObject({ testEdits: ['tests/test_parse.py'], unfixed: ['one', 'range'] })
    expect(breaks).toMatchObject({ broken: ['readme'], unfixed: [] })
    expect(report.candidates.at(-1)?.detail).toContain('why')
    // The base is as it was, and nothing is left of the forks.
    expect((await hearth.list()).filter(({ parent }) => parent === base.id)).toEqual([])
    expect(await base.files.readText(`${WORKDIR}/ranges/parse.py`)).toContain(BUG)
  })

  it('has no winner when none is right', async () => {
    const report = await search({ base, workdir: WORKDIR, judge: checks(TESTS), candidates: [PARTLY, TEST_EDIT] })
    expect(report).toMatchObject({ winner: null, reason: 'no winner: no candidate passes what it must' })
  })

  it('takes the target that it is given, and leaves out what is flaky', async () => {
    const judge = checks({ one: TESTS.one, range: TESTS.range })
    const flaky: Judge = async (fork, workdir, context) => ({
      ...(await judge(fork, workdir, context)),
      flaky: context.run % 2 === 0,
    })
    const report = await search({
      base,
      workdir: WORKDIR,
      judge: flaky,
      targets: ['one', 'flaky'],
      candidates: [PARTLY],
    })
    expect(report.base).toMatchObject({ flaky: ['flaky'], targets: ['one'] })
    expect(report.winner).toMatchObject({ name: 'partly' })
    const only = await search({
      base,
      workdir: WORKDIR,
      judge: (_fork, _workdir, { run }) => Promise.resolve({ flaky: run % 2 === 0 }),
      candidates: [RIGHT],
    })
    expect(only).toMatchObject({ winner: null, reason: 'no winner: what is to be fixed is flaky on the base (flaky)' })
    const unknown = search({ base, workdir: WORKDIR, judge, targets: ['other'], candidates: [RIGHT] })
    await expect(unknown).rejects.toThrow('the judge knows no check other')
  })

  it('has agents as candidates', async () => {
    const agent = (new_string: string): Candidate => ({
      name: new_string,
      attempt: async (fork) => {
        const model = new ScriptedModel([
          { calls: [{ tool: 'edit', input: { path: 'ranges/parse.py', old_string: BUG, new_string } }] },
          { calls: [{ tool: 'submit', input: { summary: 'done' } }] },
        ])
        await (
          await startAgent({ sandbox: fork, workdir: WORKDIR, task: 'Fix it.', model })
        ).result
      },
    })
    const judge = checks({ range: TESTS.range })
    const report = await search({ base, workdir: WORKDIR, judge, candidates: [agent('int(last) + 1))'), agent(FIX)] })
    expect(report.winner?.name).toBe(FIX)
    await expect(search({ base, workdir: WORKDIR, judge, candidates: [] })).rejects.toThrow(
      'there must be 1 to 256 candidates',
    )
  })
})
