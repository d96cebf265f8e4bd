import { stat } from 'node:fs/promises'
import { budgetOf, startAgent, type AgentEvent, type AgentResult, type AgentRun, type Model } from '@hearth/agent'
import { HearthError, newId, type RunId, type Sandbox } from '@hearth/contract'
import type { Hearth } from '@hearth/sdk'
import { chooseModel } from '../agent/choose-model.ts'
import { deliver } from '../agent/deliver.ts'
import { ownerName, workOnServer } from '../agent/kept-on-server.ts'
import { findBranch } from '../agent/local-branch.ts'
import { CopyProgress } from '../copy/copy-progress.ts'
import { onLocal } from '../copy/local-failure.ts'
import { packDirectory } from '../copy/pack.ts'
import { signalNumber } from '../exit-codes.ts'
import { Interrupts } from '../interrupts.ts'
import { sandboxFields, withoutUndefined, type SandboxOptions } from '../options/sandbox-options.ts'
import { LiveView } from '../output/live-view.ts'
import { recordedUrl } from '../server/server-record.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export interface AgentCommandOptions extends SandboxOptions, ServerOptions {
  readonly repo?: string
  readonly model?: string
  readonly verify?: string
  readonly maxSteps?: number
  readonly maxCost?: number
  readonly maxTime?: number
  readonly maxTokens?: number
  readonly diff?: string | true
  readonly branch?: string
}

/** What a run is begun with, wherever its sandbox is. */
interface Work {
  readonly task: string
  readonly model: Model
  readonly repo: string
  readonly workdir: string
  readonly options: AgentCommandOptions
  readonly interrupts: Interrupts
  readonly view: { event(event: AgentEvent): void }
}

const WORKDIR = '/workspace'
const COMMAND_MS = 30 * 60_000
const RUN_MS = 60 * 60_000
/** The sandbox outlives the run by this, for what comes after it; its deadline is the backstop. */
const MARGIN_MS = 10 * 60_000

/** Copies a directory into a fresh sandbox, lets a model work on it, and gives the change. Returns the exit code of this program. */
export async function agent(task: string, options: AgentCommandOptions): Promise<number> {
  const { repo = '.', workdir = WORKDIR } = options
  const model = await chooseModel(options.model)
  const status = await onLocal(repo, async () => await stat(repo))
  if (!status.isDirectory()) throw new HearthError('not_a_directory', `${repo} is not a directory`)
  const branch = options.branch === undefined ? null : await findBranch(repo, options.branch)
  using interrupts = new Interrupts()
  using live = new LiveView()
  const work: Work = { task, model, repo, workdir, options, interrupts, view: viewOf(options, live) }
  const result = hasServer(options)
    ? await withServer(options, async (hearth) => await onServer(hearth, work))
    : await embedded(work)
  live[Symbol.dispose]()
  await deliver(result, options, task, branch)
  if (interrupts.received !== null) return 128 + signalNumber(interrupts.received)
  return result.reason === 'submitted' ? 0 : 1
}

/** One that was named, or the one of this home while it runs. */
function hasServer({ port }: ServerOptions): boolean {
  return port !== undefined || (process.env['HEARTH_URL'] ?? '') !== '' || recordedUrl() !== null
}

export function viewOf({ json, quiet }: ServerOptions, live: LiveView): Work['view'] {
  if (json === true) return { event: (event) => void process.stdout.write(`${JSON.stringify(event)}\n`) }
  return quiet === true ? { event: () => undefined } : live
}

/** Kept by the server: it can be watched, told things, and taken up by another process when this one dies. */
async function onServer(hearth: Hearth, work: Work): Promise<AgentResult> {
  const { task, model, options, interrupts } = work
  const id = newId('run') as RunId
  await using undo = new AsyncDisposableStack()
  const spec = { ...specOf(work), metadata: { ...options.meta, run: id } }
  const sandbox = await hearth.create(spec, { signal: interrupts.signal })
  undo.defer(async () => await sandbox.kill())
  await bring(work, sandbox)
  const given = { id, task, model: model.name, budget: budgetOf(limitsOf(options), model.name, {}) }
  const { lease } = await hearth.runs.create({ ...given, owner: ownerName(), metadata: options.meta ?? {} })
  undo.move()
  if (options.json !== true && options.quiet !== true) process.stderr.write(`${id}\n`)
  return await workOnServer(hearth, lease, sandbox.id, async (kept) => {
    return stoppable(await startAgent({ ...kept, ...startOptions(work), sandbox }), interrupts)
  })
}

/** In this process alone: the run ends with it. */
async function embedded(work: Work): Promise<AgentResult> {
  const { Hearth: Engine } = await import('@hearth/engine')
  await using hearth = new Engine({ spareKeepers: 0 })
  await using sandbox = await hearth.create(specOf(work), { signal: work.interrupts.signal })
  await bring(work, sandbox)
  return await stoppable(await startAgent({ ...startOptions(work), sandbox }), work.interrupts).result
}

function specOf({ options }: Work) {
  const { workdir: _workdir, ...rest } = options
  return { ...sandboxFields(rest, options.timeout ?? COMMAND_MS), ttlMs: (options.maxTime ?? RUN_MS) + MARGIN_MS }
}

async function bring({ repo, workdir, options, interrupts }: Work, sandbox: Sandbox): Promise<void> {
  await sandbox.files.makeDirectory(workdir, { parents: true })
  using progress = new CopyProgress(options.quiet === true || options.json === true)
  await sandbox.files.extract(workdir, packDirectory(repo, progress), { signal: interrupts.signal })
}

function startOptions({ task, model, workdir, options, view }: Work) {
  return {
    task,
    model,
    workdir,
    budget: limitsOf(options),
    onEvent: (event: AgentEvent) => view.event(event),
    ...(options.verify === undefined ? {} : { verify: options.verify }),
  }
}

function limitsOf({ maxSteps, maxCost, maxTime, maxTokens }: AgentCommandOptions) {
  return withoutUndefined({ steps: maxSteps, dollars: maxCost, wallTimeMs: maxTime, tokens: maxTokens })
}

/** An interrupt ends the run and not this program: the change so far is still given. */
export function stoppable(run: AgentRun, interrupts: Interrupts): AgentRun {
  const stop = (): void => run.stop(`stopped by ${interrupts.received}`)
  if (interrupts.signal.aborted) stop()
  interrupts.signal.addEventListener('abort', stop, { once: true })
  return run
}
