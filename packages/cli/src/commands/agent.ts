import { stat } from 'node:fs/promises'
import {
  budgetOf,
  Leases,
  startAgent,
  type AgentEvent,
  type AgentOptions,
  type AgentResult,
  type AgentRun,
  type Model,
  type Prices,
  type SandboxMaker,
} from '@hearth/agent'
import { HearthError, newId, WORKSPACE_PATH, type BudgetLimits, type RunId, type Sandbox } from '@hearth/contract'
import type { Hearth } from '@hearth/sdk'
import { bringingBack, COPY_MARK, sandboxWith } from '../agent/carried-files.ts'
import { checkOut, toRepository, worksInWorkspace, type Checkout, type CheckoutOptions } from '../agent/checkout.ts'
import { chooseModel } from '../agent/choose-model.ts'
import { deliver, type DeliveryOptions } from '../agent/deliver.ts'
import { ownerName, workOnServer } from '../agent/kept-on-server.ts'
import { findBranch, toLocalBranch } from '../agent/local-branch.ts'
import { saveFiles } from '../agent/rescued-files.ts'
import { asking } from '../agent/approval.ts'
import { hooksOf } from '../agent/hooks.ts'
import { runPreparation } from '../agent/preparation.ts'
import { CopyProgress } from '../copy/copy-progress.ts'
import { onLocal } from '../copy/local-failure.ts'
import { packDirectory } from '../copy/pack.ts'
import { signalNumber } from '../exit-codes.ts'
import { Interrupts } from '../interrupts.ts'
import { secretUse } from '../options/create-options.ts'
import type { RuleOptions } from '../options/rule-options.ts'
import { policyOf } from '../options/policy-options.ts'
import { sandboxFields, withoutUndefined, type SandboxOptions } from '../options/sandbox-options.ts'
import { LiveView } from '../output/live-view.ts'
import { writeJsonLine } from '../output/present.ts'
import { printable } from '../output/printable.ts'
import { findSnapshot } from '../server/find-snapshot.ts'
import { hasServer } from '../server/has-server.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export interface BudgetOptions {
  readonly maxSteps?: number
  readonly maxCost?: number
  readonly maxTime?: number
  readonly maxTokens?: number
}

export interface AgentCommandOptions
  extends SandboxOptions, ServerOptions, CheckoutOptions, DeliveryOptions, BudgetOptions, RuleOptions {
  readonly model?: string
  readonly verify?: string
  /** A snapshot of the server, as a person names it. */
  readonly from?: string
  readonly prepare?: string
  /** Names of secrets, each perhaps with a variable. */
  readonly secret?: readonly string[]
  readonly contextTokens?: number
  readonly price?: Prices
  /** Levels of sub-agents; true for one. */
  readonly delegate?: number | true
}

/** What a run is begun with, wherever its sandbox is. */
interface Work {
  readonly task: string
  readonly model: Model
  readonly workdir: string
  readonly options: AgentCommandOptions
  readonly interrupts: Interrupts
  readonly view: { event(event: AgentEvent): void }
  readonly live: LiveView
}

interface Worked {
  readonly result: AgentResult
  readonly isCopy: boolean
}

const WORKDIR = WORKSPACE_PATH
const COMMAND_MS = 30 * 60_000
const RUN_MS = 60 * 60_000
/** The sandbox outlives the run by this, for what comes after it; its deadline is the backstop. Without a server it outlives this process by no more. */
const MARGIN_MS = 10 * 60_000

/** Lets a model work in a fresh sandbox, on a copy of a directory or in a workspace, and gives the change. Returns the exit code of this program. */
export async function agent(task: string, options: AgentCommandOptions): Promise<number> {
  const { workdir = WORKDIR } = options
  const inWorkspace = worksInWorkspace(options)
  if (inWorkspace && options.from !== undefined)
    throw new HearthError('invalid_request', 'a workspace is what it begins with: --from would be another')
  const model = await chooseModel(options.model, withoutUndefined({ contextTokens: options.contextTokens }))
  // Refused before anything is made.
  budgetFor({ model, options })
  using interrupts = new Interrupts()
  using live = new LiveView()
  const work: Work = { task, model, workdir, options, interrupts, view: viewOf(options, live), live }
  const result = inWorkspace ? await onCheckout(work, live) : await onCopy(work, live)
  if (interrupts.received !== null) return 128 + signalNumber(interrupts.received)
  return result.reason === 'submitted' ? 0 : 1
}

/** The files of a directory: what comes back is a patch, or a branch of the repository that it is. */
async function onCopy(work: Work, live: LiveView): Promise<AgentResult> {
  const { task, options } = work
  const { repo = '.', branch: name } = options
  const copied = copiedDirectory(options)
  if (copied !== null && !(await onLocal(copied, async () => await stat(copied))).isDirectory())
    throw new HearthError('not_a_directory', `${copied} is not a directory`)
  const branch = name === undefined ? null : toLocalBranch(await findBranch(repo, name))
  const result = needsServer(options)
    ? (await withServer(options, async (hearth) => await onServer(hearth, work, null))).result
    : await embedded(work)
  live[Symbol.dispose]()
  await deliver(result, options, task, branch, dollarsOf(work))
  return result
}

/** A snapshot has files already: another directory is copied into it only when it was named. */
function copiedDirectory({ repo, from }: AgentCommandOptions): string | null {
  return repo ?? (from === undefined ? '.' : null)
}

/** Snapshots and secrets are a server's. */
function needsServer(options: AgentCommandOptions): boolean {
  return options.from !== undefined || options.secret !== undefined || hasServer(options)
}

/** A workspace of the server, whose changes can be pushed. */
async function onCheckout(work: Work, live: LiveView): Promise<AgentResult> {
  const { task, options, interrupts } = work
  return await withServer(options, async (hearth) => {
    const checkout = await checkOut(hearth, options, { signal: interrupts.signal })
    if (options.json !== true && options.quiet !== true) {
      const { id, info } = checkout.workspace
      process.stderr.write(`${id}, on ${printable(info.branch)} from ${info.base.slice(0, 12)}\n`)
    }
    const { result, isCopy } = await onServer(hearth, work, checkout)
    live[Symbol.dispose]()
    const back = isCopy ? bringingBack(hearth, checkout.workspace.id) : null
    const destination = toRepository({ ...checkout, bringBack: back }, options)
    await deliver(result, options, task, destination, dollarsOf(work))
    return result
  })
}

export function viewOf({ json, quiet }: ServerOptions, live: LiveView): Work['view'] {
  if (json === true) return { event: (event) => void process.stdout.write(`${JSON.stringify(event)}\n`) }
  return quiet === true ? { event: () => undefined } : live
}

/** Kept by the server: it can be watched, told things, and taken up by another process when this one dies. */
async function onServer(hearth: Hearth, work: Work, checkout: Checkout | null): Promise<Worked> {
  const { task, model, options, interrupts } = work
  const { signal } = interrupts
  const id = newId('run') as RunId
  const budget = budgetFor(work)
  await using undo = new AsyncDisposableStack()
  if (checkout?.isNew === true) undo.defer(async () => await checkout.workspace.remove())
  const from = options.from === undefined ? {} : { from: (await findSnapshot(hearth, options.from, signal)).id }
  const secrets = options.secret === undefined ? {} : { secrets: options.secret.map(secretUse) }
  const spec = { ...specOf(work), ...from, ...secrets, metadata: { ...options.meta, run: id } }
  const workspace = checkout?.workspace.id ?? null
  const { sandbox, isCopy } =
    workspace === null
      ? { sandbox: await hearth.create(spec, { signal }), isCopy: false }
      : await sandboxWith(hearth, workspace, spec, { signal })
  undo.defer(async () => await sandbox.kill())
  if (checkout === null) await bring(work, sandbox)
  await prepared(work, sandbox)
  const metadata = { ...options.meta, ...(isCopy ? { [COPY_MARK]: 'yes' } : {}) }
  const given = { id, task, model: model.name, budget, workspace, metadata }
  const { lease } = await hearth.runs.create({ ...given, owner: ownerName() })
  undo.move()
  if (options.json !== true && options.quiet !== true) process.stderr.write(`${id}\n`)
  const result = await workOnServer(hearth, lease, sandbox.id, async (kept) => {
    const begin = { ...kept, ...startOptions(work), ...delegation(work, hearth), sandbox }
    return stoppable(await startAgent(begin), interrupts)
  })
  return { result, isCopy }
}

/** In this process alone: the run ends with it, and nobody could go on in the sandbox of one that was killed. */
async function embedded(work: Work): Promise<AgentResult> {
  const { Hearth: Engine } = await import('@hearth/engine')
  await using hearth = new Engine({ spareKeepers: 0 })
  using leases = new Leases(MARGIN_MS)
  const spec = specOf(work)
  const until = Date.now() + spec.ttlMs
  const ttlMs = Math.min(spec.ttlMs, leases.leaseMs)
  await using sandbox = await hearth.create({ ...spec, ttlMs }, { signal: work.interrupts.signal })
  leases.hold(sandbox, until)
  await bring(work, sandbox)
  await prepared(work, sandbox)
  const options = { ...startOptions(work), ...delegation(work, hearth), sandbox }
  const result = await stoppable(await startAgent(options), work.interrupts).result
  if (!result.diff.available) await saveFiles(sandbox, work.workdir)
  return result
}

function specOf({ options }: Work) {
  const { workdir: _workdir, ...rest } = options
  return { ...sandboxFields(rest, options.timeout ?? COMMAND_MS), ttlMs: (options.maxTime ?? RUN_MS) + MARGIN_MS }
}

async function bring({ workdir, options, interrupts }: Work, sandbox: Sandbox): Promise<void> {
  const directory = copiedDirectory(options)
  await sandbox.files.makeDirectory(workdir, { parents: true })
  if (directory === null) return
  using progress = new CopyProgress(options.quiet === true || options.json === true)
  await sandbox.files.extract(workdir, packDirectory(directory, progress), { signal: interrupts.signal })
}

/** Before anything is counted as a change. */
async function prepared({ workdir, options, interrupts, live }: Work, sandbox: Sandbox): Promise<void> {
  const { prepare, json, quiet } = options
  if (prepare === undefined) return
  if (json === true) await writeJsonLine({ type: 'preparing', command: prepare })
  else if (quiet !== true) live.say(`preparing: ${printable(prepare)}`, 'preparing')
  await runPreparation(sandbox, workdir, prepare, interrupts.signal)
  live.say(null)
}

function startOptions({ task, model, workdir, options, interrupts, view, live }: Work) {
  return {
    task,
    model,
    workdir,
    budget: budgetOptions(options),
    onEvent: (event: AgentEvent) => view.event(event),
    ...rulesOf(options, { live, signal: interrupts.signal, json: options.json }),
    ...withoutUndefined({ verify: options.verify, prices: options.price }),
  }
}

/** What the tools may do is said by rules, hooks and, where a rule says so, a person. */
export function rulesOf(
  options: RuleOptions,
  around: Parameters<typeof asking>[0],
): Pick<AgentOptions, 'permissions' | 'approve' | 'hooks'> {
  const { permission: permissions } = options
  return { approve: asking(around), ...withoutUndefined({ permissions, hooks: hooksOf(options) }) }
}

/** Sub-agents may have what the options allow the run, and no more. */
function delegation({ options }: Work, hearth: SandboxMaker): Pick<AgentOptions, 'grant' | 'delegate'> {
  if (options.delegate === undefined) return {}
  const depth = options.delegate === true ? 1 : options.delegate
  const secrets = (options.secret ?? []).map((word) => secretUse(word).secret)
  return { grant: { depth, policy: policyOf(options) ?? {}, secrets }, delegate: { hearth } }
}

export function budgetOptions({ maxSteps, maxCost, maxTime, maxTokens }: BudgetOptions): Partial<BudgetLimits> {
  return withoutUndefined({ steps: maxSteps, dollars: maxCost, wallTimeMs: maxTime, tokens: maxTokens })
}

function budgetFor({ model, options }: Pick<Work, 'model' | 'options'>): BudgetLimits {
  return budgetOf(budgetOptions(options), model.name, options.price ?? {})
}

function dollarsOf(work: Work): number | null {
  return budgetFor(work).dollars
}

/** An interrupt ends the run and not this program: the change so far is still given. */
export function stoppable(run: AgentRun, interrupts: Interrupts): AgentRun {
  const stop = (): void => run.stop(`stopped by ${interrupts.received}`)
  if (interrupts.signal.aborted) stop()
  interrupts.signal.addEventListener('abort', stop, { once: true })
  return run
}
