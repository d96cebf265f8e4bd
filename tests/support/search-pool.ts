import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from '@hearth/contract'
import { checks, search, type CandidateOutcome, type Judge, type SearchReport } from '@hearth/agent'

const KINDS = ['right', 'partial', 'hard-coded', 'test-edit', 'test-delete', 'breaks', 'flaky'] as const
type Kind = (typeof KINDS)[number]

/** A small repository with a bug, how a change is judged, and prepared changes of which it is known what they are. */
export interface PoolTask {
  readonly name: string
  readonly language: 'python' | 'node' | 'shell'
  readonly files: Readonly<Record<string, string>>
  readonly checks: Readonly<Record<string, string>>
  readonly targets: readonly string[]
  /** Its checks accept a change that is not right, so that nobody could tell by them. */
  readonly weak: boolean
  /** Tells apart what its checks do not. */
  readonly probe?: string
  readonly candidates: readonly { readonly kind: Kind; readonly patch: string }[]
}

const directory = join(import.meta.dirname, '../search-pool')

export function readPool(): PoolTask[] {
  return readdirSync(directory)
    .toSorted()
    .map((name) => JSON.parse(readFileSync(join(directory, name), 'utf8')) as PoolTask)
}

const placeOf = ({ name }: PoolTask): string => `/pool/${name}`

/** All tasks lie side by side in one machine: whoever forks it has all of them. */
export async function writePool(base: Sandbox, tasks: readonly PoolTask[]): Promise<void> {
  for (const task of tasks) {
    for (const [path, content] of Object.entries(task.files))
      await base.files.write(`${placeOf(task)}/${path}`, content)
  }
}

/** What is flaky goes by a coin that lies differently in each run, so that it is found in every run of this suite. */
function withCoin(judge: Judge): Judge {
  return async (fork, workdir, { run, apart }) => {
    const tossed = async (machine: Sandbox) => await machine.files.write('/tmp/coin', String(run % 2))
    await tossed(fork)
    const apartTossed: typeof apart = async (work) =>
      await apart(async (copy) => {
        await tossed(copy)
        return await work(copy)
      })
    return await judge(fork, workdir, { run, apart: apartTossed })
  }
}

export async function selectFor(base: Sandbox, task: PoolTask): Promise<SearchReport> {
  return await search({
    base,
    workdir: placeOf(task),
    judge: withCoin(checks(task.checks, { timeoutMs: 20_000 })),
    targets: task.targets,
    candidates: task.candidates.map(({ kind, patch }, index) => ({ name: `${kind} ${index}`, patch })),
    ...(task.probe === undefined ? {} : { probes: { probe: task.probe } }),
  })
}

/** What was chosen against what is right: of the kind of the winner, or none. */
export function isChosenRight(task: PoolTask, { winner }: SearchReport): boolean {
  const right = task.candidates.some(({ kind }) => kind === 'right')
  return winner === null ? !right : task.candidates[winner.index]?.kind === 'right'
}

type Column = CandidateOutcome | 'chosen'

/** How many of each kind were judged how, and how many of them were chosen. */
export function confusionTable(results: readonly (readonly [PoolTask, SearchReport])[]): string {
  const columns: readonly Column[] = ['passed', 'failed', 'flaky', 'duplicate', 'does_not_apply', 'broken', 'chosen']
  const counts = new Map<string, number>()
  const count = (kind: Kind, column: Column): void =>
    void counts.set(`${kind} ${column}`, (counts.get(`${kind} ${column}`) ?? 0) + 1)
  for (const [task, { candidates, winner }] of results) {
    for (const { index, outcome } of candidates) count(task.candidates[index]?.kind ?? 'right', outcome)
    if (winner !== null) count(task.candidates[winner.index]?.kind ?? 'right', 'chosen')
  }
  const row = (cells: readonly string[]): string =>
    cells
      .map((cell) => cell.padEnd(14))
      .join('')
      .trimEnd()
  const rows = KINDS.map((kind) =>
    row([kind, ...columns.map((column) => String(counts.get(`${kind} ${column}`) ?? 0))]),
  )
  return [row(['', ...columns]), ...rows].join('\n')
}
