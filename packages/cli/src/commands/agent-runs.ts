import { resultOf, type AgentEvent } from '@hearth/agent'
import { HearthError, type Hearth, type RunInfo, type RunMessageKind, type RunState } from '@hearth/sdk'
import { allOf } from '../all-of.ts'
import { subAgentsOf } from '../agent/sub-agents-of-run.ts'
import { Interrupts } from '../interrupts.ts'
import { eventLine, resultLine } from '../output/agent-view.ts'
import { money } from '../output/money.ts'
import { presentList, presentOne, writeJsonLine, type View } from '../output/present.ts'
import { printable } from '../output/printable.ts'
import { table } from '../output/table.ts'
import { formatAge } from '../output/time.ts'
import { write } from '../output/write.ts'
import { findRun } from '../server/find-run.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export interface RunListOptions extends ServerOptions {
  readonly state?: string
  readonly meta?: Readonly<Record<string, string>>
}

const TASK_CHARACTERS = 60

const runView: View<RunInfo> = {
  header: ['ID', 'STATE', 'STEPS', 'COST', 'AGE', 'MODEL', 'TASK'],
  id: ({ id }) => id,
  row: (run) => [
    run.id,
    stateOf(run),
    String(run.spent.steps),
    money(run.spent.dollars, run.budget.dollars),
    formatAge(run.createdAt),
    printable(run.model).slice(0, 40),
    printable(run.task.split('\n')[0] ?? '').slice(0, TASK_CHARACTERS),
  ],
}

/** A run that nobody works on goes on only when somebody resumes it. */
function stateOf({ state, reason, driver, complete }: RunInfo): string {
  if (state === 'stopped') return complete ? (reason ?? 'stopped') : 'unfinished'
  return driver === null ? 'abandoned' : state
}

export async function listRuns(options: RunListOptions): Promise<number> {
  const filters = {
    limit: 1000,
    // Checked by the server, which knows them.
    ...(options.state === undefined ? {} : { state: options.state as RunState }),
    ...(options.meta === undefined ? {} : { metadata: options.meta }),
  }
  const runs = await withServer(options, async (hearth) => await allOf(hearth.runs.list(filters)))
  await presentList(options, runs, runView)
  return 0
}

export async function showRun(name: string, options: ServerOptions & { readonly diff?: boolean }): Promise<number> {
  return await withServer(options, async (hearth) => {
    const run = await findRun(hearth, name)
    const ended = run.complete ? await resultEvent(hearth, run) : null
    if (options.diff === true) {
      const { diff } = ended === null ? { diff: null } : resultOf(ended)
      if (diff?.available !== true) throw new HearthError('not_found', diff?.reason ?? `${run.id} has not ended`)
      await write(process.stdout, diff.patch)
      return 0
    }
    const fields = options.json === true ? [] : [...fieldsOf(run), ...(await subAgentsOf(hearth, run))]
    const people = (): string =>
      table(fields) + (ended === null ? '' : `${resultLine(resultOf(ended), run.budget.dollars)}\n`)
    await presentOne(options, { id: run.id, json: ended === null ? run : { ...run, result: ended }, people })
    return 0
  })
}

function fieldsOf(run: RunInfo): [string, string][] {
  const { spent, budget } = run
  return [
    ['id', run.id],
    ['state', stateOf(run)],
    ['task', printable(run.task)],
    ['model', printable(run.model)],
    ['sandbox', printable(run.sandbox ?? '-')],
    ['driver', run.driver === null ? '-' : printable(run.driver.owner)],
    ['steps', `${spent.steps} of ${budget.steps}`],
    ['tokens', `${spent.tokens} of ${budget.tokens}`],
    ['cost', `${money(spent.dollars, budget.dollars)}${budget.dollars === null ? '' : ` of $${budget.dollars}`}`],
    ['time', `${Math.round(spent.wallTimeMs / 1000)} of ${Math.round(budget.wallTimeMs / 1000)} s`],
    ['events', String(run.events)],
    ['age', formatAge(run.createdAt)],
  ]
}

async function resultEvent(hearth: Hearth, run: RunInfo): Promise<Extract<AgentEvent, { type: 'result' }> | null> {
  for await (const event of hearth.runs.events(run.id, run.events - 1)) if (event.type === 'result') return event
  return null
}

/** What happened in it, from its beginning; with `--follow` as it happens, to its end. */
export async function replayRun(name: string, options: ServerOptions & { readonly follow?: boolean }): Promise<number> {
  using interrupts = new Interrupts()
  return await withServer(options, async (hearth) => {
    const run = await findRun(hearth, name)
    const follow = options.follow === true
    const events = follow ? hearth.runs.follow(run.id, { signal: interrupts.signal }) : hearth.runs.events(run.id)
    for await (const event of events) {
      if (options.json === true) await writeJsonLine(event)
      else {
        const line = event.type === 'result' ? resultLine(resultOf(event), run.budget.dollars) : eventLine(event)
        if (line !== null) await write(process.stdout, `${line}\n`)
      }
    }
    return 0
  })
}

/** Tells whoever works on it. Somebody must: nobody would ever read it otherwise. */
export async function tellRun(
  name: string,
  kind: RunMessageKind,
  text: string,
  options: ServerOptions,
): Promise<number> {
  return await withServer(options, async (hearth) => {
    const run = await findRun(hearth, name)
    if (run.state !== 'stopped' && run.driver === null) {
      throw new HearthError('invalid_state', `nobody works on ${run.id}`, {
        suggestion: `Go on with it: \`hearth agent resume ${run.id}\`, or end it: \`hearth agent stop ${run.id}\`.`,
      })
    }
    const message = await hearth.runs.tell(run.id, kind, text)
    await presentOne(options, {
      id: run.id,
      json: message,
      people: () => `${run.id}: ${kind} (message ${message.number})\n`,
    })
    return 0
  })
}
