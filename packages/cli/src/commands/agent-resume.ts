import {
  ModelFailure,
  openModel,
  resumeAgent,
  resultOf,
  type AgentResult,
  type Model,
  type Prices,
} from '@hearth/agent'
import type { Sandbox } from '@hearth/contract'
import { HearthError, type Hearth, type RunInfo } from '@hearth/sdk'
import { bringingBack, COPY_MARK } from '../agent/carried-files.ts'
import { toRepository } from '../agent/checkout.ts'
import { deliver, type DeliveryOptions } from '../agent/deliver.ts'
import type { Destination } from '../agent/destination.ts'
import { goneSandbox } from '../agent/gone-sandbox.ts'
import { ownerName, workOnServer } from '../agent/kept-on-server.ts'
import { savePatch } from '../agent/rescued-files.ts'
import { findBranch, toLocalBranch } from '../agent/local-branch.ts'
import { signalNumber } from '../exit-codes.ts'
import { Interrupts } from '../interrupts.ts'
import type { RuleOptions } from '../options/rule-options.ts'
import { withoutUndefined } from '../options/sandbox-options.ts'
import { resultLine } from '../output/agent-view.ts'
import { LiveView } from '../output/live-view.ts'
import { presentOne } from '../output/present.ts'
import { findRun } from '../server/find-run.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'
import { rulesOf, stoppable, viewOf } from './agent.ts'

export interface ResumeCommandOptions extends ServerOptions, DeliveryOptions, RuleOptions {
  readonly contextTokens?: number
  readonly model?: string
  readonly repo?: string
  readonly branch?: string
  readonly pr?: boolean
  readonly base?: string
  readonly price?: Prices
  readonly force?: boolean
}

/** Goes on with a run: lets the one who works on it go on, or works on it here when nobody does. */
export async function resumeRun(name: string, options: ResumeCommandOptions): Promise<number> {
  using interrupts = new Interrupts()
  using live = new LiveView()
  return await withServer(options, async (hearth) => {
    const run = await findRun(hearth, name)
    if (run.driver !== null && options.force !== true) return await letGoOn(hearth, run, options)
    const destination = await destinationOf(hearth, run, options)
    if (run.state !== 'stopped' && run.messages > run.message) await hearth.runs.tell(run.id, 'resume')
    const model = await openModel(
      options.model ?? run.model,
      withoutUndefined({ contextTokens: options.contextTokens }),
    )
    const result = await takeUp(hearth, run, model, { options, interrupts, live })
    live[Symbol.dispose]()
    await deliver(result, options, run.task, destination, run.budget.dollars)
    if (interrupts.received !== null) return 128 + signalNumber(interrupts.received)
    return result.reason === 'submitted' ? 0 : 1
  })
}

/** A run that works in a workspace is pushed from there; one of a directory goes into a branch of it. */
async function destinationOf(hearth: Hearth, run: RunInfo, options: ResumeCommandOptions): Promise<Destination | null> {
  const { branch, repo, pr, base } = options
  if (base !== undefined && pr !== true)
    throw new HearthError('invalid_request', '--base is where a pull request goes to')
  if (run.workspace === null) {
    if (pr === true)
      throw new HearthError('invalid_request', `${run.id} works on a copy, of which nothing can be pushed`)
    return branch === undefined ? null : toLocalBranch(await findBranch(repo ?? '.', branch))
  }
  if (repo !== undefined) throw new HearthError('invalid_request', `${run.id} works in ${run.workspace}, not in --repo`)
  const workspace = await hearth.workspaces.get(run.workspace)
  if (branch !== undefined && branch !== workspace.info.branch) await workspace.branch(branch)
  const back = COPY_MARK in run.metadata ? bringingBack(hearth, workspace.id) : null
  return toRepository({ workspace, isNew: false, bringBack: back }, options)
}

async function letGoOn(hearth: Hearth, run: RunInfo, options: ServerOptions): Promise<number> {
  if (run.state !== 'paused') {
    throw new HearthError('conflict', `${run.id} is worked on by ${run.driver?.owner}`, {
      suggestion: `Watch it with \`hearth agent replay --follow ${run.id}\`; --force takes it away from one that hangs.`,
    })
  }
  const message = await hearth.runs.tell(run.id, 'resume')
  await presentOne(options, {
    id: run.id,
    json: message,
    people: () => `${run.id}: resume (message ${message.number})\n`,
  })
  return 0
}

/** Ends a run at once, and waits until all that came of it is written down. Where nobody works on it, that is done here. */
export async function stopRun(name: string, text: string, options: ServerOptions): Promise<number> {
  using interrupts = new Interrupts()
  using live = new LiveView()
  return await withServer(options, async (hearth) => {
    const run = await findRun(hearth, name)
    if (run.complete) throw new HearthError('invalid_state', `${run.id} has ended: ${run.reason}`)
    if (run.state !== 'stopped') await hearth.runs.tell(run.id, 'stop', text)
    if (run.driver === null) {
      const around = { options: { ...options, quiet: true }, interrupts, live }
      await savePatch(run.id, await takeUp(hearth, run, NO_MODEL, around))
    }
    for await (const event of hearth.runs.follow(run.id, { from: run.events, signal: interrupts.signal })) {
      if (event.type !== 'result') continue
      const people = (): string => `${resultLine(resultOf(event), run.budget.dollars)}\n`
      await presentOne(options, { id: run.id, json: event, people })
    }
    return 0
  })
}

/** For a run that is only to be ended. */
const NO_MODEL: Model = {
  name: 'none',
  contextTokens: 1_000_000,
  call: () => Promise.reject(new ModelFailure('refused', 'the run is to be ended')),
}

interface Surroundings {
  readonly options: ServerOptions & RuleOptions & Pick<ResumeCommandOptions, 'force' | 'price'>
  readonly interrupts: Interrupts
  readonly live: LiveView
}

async function takeUp(hearth: Hearth, run: RunInfo, model: Model, around: Surroundings): Promise<AgentResult> {
  const { options, interrupts, live } = around
  if (run.complete) return await kept(hearth, run)
  if (run.events === 0) throw new HearthError('invalid_state', `${run.id} was never begun: its sandbox was not ready`)
  const view = viewOf(options, live)
  const prices = options.price === undefined ? {} : { prices: options.price }
  const lease = await hearth.runs.take(run.id, { owner: ownerName(), force: options.force === true })
  const sandbox = await sandboxOf(hearth, run.sandbox ?? '')
  return await workOnServer(hearth, lease, run.sandbox, async (given) => {
    const onEvent = view.event.bind(view)
    // What it may give on is written down; without it this gives nothing.
    const delegate = { hearth }
    const rules = rulesOf(options, { live, signal: interrupts.signal, json: options.json })
    const resumed = await resumeAgent({ ...given, ...prices, ...rules, sandbox, model, onEvent, delegate })
    return stoppable(resumed, interrupts)
  })
}

async function kept(hearth: Hearth, run: RunInfo): Promise<AgentResult> {
  for await (const event of hearth.runs.events(run.id, run.events - 1))
    if (event.type === 'result') return resultOf(event)
  throw new HearthError('internal', `${run.id} has no result`)
}

async function sandboxOf(hearth: Hearth, id: string): Promise<Sandbox> {
  try {
    return await hearth.get(id)
  } catch (error) {
    if (HearthError.isInstance(error) && error.code === 'sandbox_not_found') return goneSandbox(id)
    throw error
  }
}
