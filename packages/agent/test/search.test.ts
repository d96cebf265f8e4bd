import { Hearth } from '@hearth/engine'
import { BOUNDS, type Sandbox } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  checks,
  ScriptedModel,
  search,
  SharedBudget,
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

  it('tries others only while none passes, and asks for more when there are none left', async () => {
    const judge = checks({ range: TESTS.range })
    const options = { base, workdir: WORKDIR, judge, wave: 1 }
    const report = await search({ ...options, candidates: [PARTLY, RIGHT, LONGER] })
    expect(outcomes(report)).toEqual({ partly: 'failed', right: 'passed', longer: 'not_tried' })
    const asked: number[] = []
    const further = await search({
      ...options,
      candidates: [PARTLY],
      more: (reports) => {
        asked.push(reports.length)
        return Promise.resolve(asked.length === 1 ? [TEST_EDIT, RIGHT] : [])
      },
    })
    expect(outcomes(further)).toEqual({ partly: 'failed', 'test edit': 'failed', right: 'passed' })
    expect(asked).toEqual([1])
    const none = await search({ ...options, candidates: [PARTLY], more: () => Promise.resolve([]) })
    expect(none.winner).toBeNull()
  })

  it('gives up judging what never ends, and attempts when the time of all is over', async () => {
    const judge: Judge = async (fork) => ({
      ends: (await fork.exec('test ! -e slow || sleep 60', { cwd: WORKDIR })).exitCode === 0,
    })
    const slow: Candidate = { name: 'slow', command: 'touch slow' }
    const report = await search({ base, workdir: WORKDIR, judge, judgeMs: 2000, candidates: [slow, RIGHT] })
    expect(report.candidates[0]).toMatchObject({ outcome: 'broken', detail: 'judging took longer than 2000 ms' })
    expect(report.winner?.name).toBe('right')
    const budget = new SharedBudget({ steps: 10, tokens: 1000, dollars: null, wallTimeMs: 1 })
    const over = await search({ base, workdir: WORKDIR, judge, budget, candidates: [RIGHT] })
    expect(over).toMatchObject({ winner: null, candidates: [{ outcome: 'not_tried' }], spent: { steps: 0 } })
  })

  it('has bounds', async () => {
    const judge = checks({ range: TESTS.range })
    const many = Array.from({ length: BOUNDS.searchCandidates + 1 }, () => RIGHT)
    const wrong = async (given: object): Promise<unknown> =>
      await search({ base, workdir: WORKDIR, judge, candidates: [RIGHT], ...given })
    await expect(wrong({ candidates: many })).rejects.toThrow('there must be 1 to 256 candidates')
    await expect(wrong({ wave: 0 })).rejects.toThrow('wave must be a whole number from 1 on')
    await expect(wrong({ enough: 1.5 })).rejects.toThrow('enough must be a whole number from 1 on')
    await expect(wrong({ leaseMs: 10 })).rejects.toThrow('leaseMs must be a whole number from 1000 on')
    await expect(wrong({ judge: checks({ readme: TESTS.readme }), targets: ['readme'] })).rejects.toThrow(
      'readme passes on the base already, and can be no target',
    )
  })
})
