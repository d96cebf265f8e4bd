import { setTimeout as sleep } from 'node:timers/promises'
import type { Sandbox } from '@hearth/contract'
import { bestOf, checks, search, type Candidate, type Model, type Variation } from '@hearth/agent'
import { timed, type BenchContext } from '../context.ts'
import type { Measurement } from '../report/row.ts'

const WORKDIR = '/workspace'
const CANDIDATES = 5
const MOST_RATIO = 1.5

/** A program that is wrong, a set-up that mostly waits, as an install does, and a check that works for a while. */
interface Work {
  readonly setUpMs: number
  readonly waitMs: number
  readonly check: string
}

function workOf(quick: boolean): Work {
  const check = 'python3 -c \'sum(range(8_000_000)); import runpy; assert runpy.run_path("answer.py")["answer"] == 42\''
  return { setUpMs: quick ? 3000 : 30_000, waitMs: quick ? 400 : 2000, check }
}

async function setUp(sandbox: Sandbox, { setUpMs }: Work): Promise<void> {
  await sandbox.files.write(`${WORKDIR}/answer.py`, 'answer = 41\n')
  await sandbox.exec(`sleep ${setUpMs / 1000}; mkdir -p node_modules; seq 1000 > node_modules/installed`, {
    cwd: WORKDIR,
  })
}

/** Thinks for a while before each of three replies, as a model does, and comes to the right change or not. */
function thinking(index: number, isRight: boolean, { waitMs }: Work): Model {
  return {
    name: `scripted:thinking-${index}`,
    contextTokens: 100_000,
    call: async ({ turn, signal }) => {
      await sleep(waitMs, undefined, { signal })
      const calls = [
        { name: 'bash', input: { command: 'cat answer.py' } },
        { name: 'write', input: { path: 'answer.py', content: `answer = ${isRight ? 42 : index}\n` } },
        { name: 'submit', input: { summary: 'done' } },
      ]
      const call = calls[turn] ?? { name: 'submit', input: { summary: 'done' } }
      const usage = { inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 }
      return { text: '', calls: [{ id: `call-${turn}`, ...call }], finish: 'tool-calls', usage }
    },
  }
}

/**
 * Best of five against one attempt, each with the set-up and the judging: all five at once, and in waves as they are made when nothing is said,
 * at worst, when the last one alone is right.
 */
export async function measureBestOf(context: BenchContext): Promise<Measurement[]> {
  const work = workOf(context.quick)
  const run = async (count: number, right: number, waves: { readonly wave?: number }): Promise<number> => {
    await using base = await context.create()
    return await timed(async () => {
      await setUp(base, work)
      const attempts = Array.from({ length: count }, (_, index): Variation => ({
        model: thinking(index, index === right, work),
      }))
      const report = await bestOf({
        base,
        workdir: WORKDIR,
        task: 'The answer is wrong.',
        attempts,
        ...waves,
        judge: checks({ answer: work.check }),
      })
      if (report.winner === null) throw new Error(report.reason)
    })
  }
  const one = await run(1, 0, {})
  const atOnce = await run(CANDIDATES, 0, { wave: CANDIDATES })
  const inWaves = await run(CANDIDATES, CANDIDATES - 1, {})
  const setUpTime = `with a set-up of ${work.setUpMs / 1000} s`
  const floors = [{ name: 'one attempt, with set-up and judging', samples: [one] }]
  const common = { rung: context.rung, unit: 'ms', floors } as const
  return [
    {
      ...common,
      metric: `best of ${CANDIDATES} at once ${setUpTime}`,
      samples: [atOnce],
      target: { kind: 'ratio', value: MOST_RATIO },
    },
    {
      ...common,
      metric: `best of ${CANDIDATES} in waves, the last one right, ${setUpTime}`,
      samples: [inWaves],
      target: null,
    },
  ]
}

const change = (index: number): string => `echo "answer = ${index === 1 ? 42 : index}" > answer.py`

/** From one prepared machine to five judged changes, against preparing a machine for each change and each judging. */
export async function measureJudging(context: BenchContext): Promise<Measurement> {
  const work = { ...workOf(context.quick), setUpMs: context.quick ? 1000 : 5000 }
  const indices = Array.from({ length: CANDIDATES }, (_, index) => index + 1)
  const forked = async (): Promise<number> => {
    await using base = await context.create()
    await setUp(base, work)
    return await timed(async () => {
      const candidates = indices.map((index): Candidate => ({ command: change(index) }))
      await search({ base, workdir: WORKDIR, candidates, confirmations: 0, judge: checks({ answer: work.check }) })
    })
  }
  /** The same work without copies: all at once, so that the waiting is shared as well as it can be. */
  const alone = async (): Promise<void> => {
    await using sandbox = await context.create()
    await setUp(sandbox, work)
  }
  const unforked = async (): Promise<number> =>
    await timed(async () => {
      // Two runs of the base, then for each change a machine to make it and one to judge it.
      await Promise.all([0, 1].map(async () => await judgeAlone(context, work, null)))
      await Promise.all(
        indices.map(async (index) => {
          await alone()
          await judgeAlone(context, work, index)
        }),
      )
    })
  const samples: number[] = []
  const floor: number[] = []
  for (let round = 0; round < (context.quick ? 1 : 3); round++) {
    samples.push(await forked())
    floor.push(await unforked())
  }
  return {
    rung: context.rung,
    metric: `${CANDIDATES} changes made and judged, from a prepared machine`,
    unit: 'ms',
    samples,
    floors: [{ name: `without forks, each prepared for ${work.setUpMs / 1000} s`, samples: floor }],
    target: { kind: 'ratio', value: 0.5 },
  }
}

async function judgeAlone(context: BenchContext, work: Work, index: number | null): Promise<void> {
  await using sandbox = await context.create()
  await setUp(sandbox, work)
  if (index !== null) await sandbox.exec(change(index), { cwd: WORKDIR })
  await sandbox.exec(work.check, { cwd: WORKDIR })
}
