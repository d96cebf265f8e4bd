import { BOUNDS, HearthError, newId, parseInput, permissionRuleSchema } from '@hearth/contract'
import { z } from 'zod'
import { budgetOf, requirePrice } from '../budget/budget.ts'
import { ChangeTracker } from '../changes/change-tracker.ts'
import { Delegation } from '../delegate/delegation.ts'
import { budgetWithin, grantOf } from '../delegate/grant-of-run.ts'
import { MemoryEventLog } from '../events/event-log.ts'
import { priceOf, type Prices } from '../models/prices.ts'
import { AgentRun } from './agent-run.ts'
import type { AgentOptions, ResumeOptions } from './options.ts'
import { Recorder } from './recorder.ts'

const permissionsSchema = z.array(permissionRuleSchema).max(BOUNDS.runPermissions)

type Started = NonNullable<Recorder['state']['started']>

/** Begins a run. The sandbox stays the caller's. */
export async function startAgent(options: AgentOptions): Promise<AgentRun> {
  const { sandbox, model, task, workdir = '/workspace', verify = null } = options
  if (task.trim() === '' || task.length > BOUNDS.runTaskCharacters) {
    throw new HearthError('invalid_request', `a task has 1 to ${BOUNDS.runTaskCharacters} characters`)
  }
  const wanted = budgetOf(options.budget ?? {}, model.name, options.prices ?? {})
  const price = priceOf(model.name, options.prices ?? {})
  const permissions = parseInput(permissionsSchema, options.permissions ?? [], 'permissions')
  const grant = grantOf(options, wanted)
  const budget = grant === null ? wanted : budgetWithin(wanted, grant)
  const recorder = await recorderOf(options)
  if (recorder.state.next > 0) throw new HearthError('conflict', 'the log holds a run already; resume it')
  await sandbox.files.makeDirectory(workdir, { parents: true })
  const tracker = await ChangeTracker.open(options.stateDirectory ?? null, options.changeLimits)
  try {
    // Without something to compare with, the work would be lost in the end.
    const commit = options.base ?? (await tracker.begin(sandbox, workdir))
    await recorder.record({
      type: 'started',
      run: options.run ?? newId('run'),
      task,
      model: model.name,
      sandbox: sandbox.id,
      workdir,
      verify,
      budget,
      base: { commit },
      ...(price === null ? {} : { price }),
      ...(permissions.length === 0 ? {} : { permissions }),
      ...(options.hooks === undefined ? {} : { hooked: true as const }),
      ...(grant === null ? {} : { grant }),
    })
    return makeRun(options, recorder, tracker)
  } catch (error) {
    await tracker[Symbol.asyncDispose]()
    throw error
  }
}

/** Goes on with a run that another process began. A call that was under way is told to the model as interrupted, and never repeated. */
export async function resumeAgent(given: ResumeOptions): Promise<AgentRun> {
  const recorder = await recorderOf(given)
  const { started } = recorder.state
  if (started === null) throw new HearthError('not_found', 'the log holds no run')
  const permissions = given.permissions ?? started.permissions ?? []
  const options = { ...given, permissions, prices: pricesOf(started, given) }
  if (!isToEnd(recorder, options)) {
    requirePrice(options.model.name, started.budget, options.prices)
    requireHooks(started, options)
  }
  const tracker = await ChangeTracker.open(options.stateDirectory ?? null, options.changeLimits)
  try {
    await requireBase(recorder, options, tracker)
  } catch (error) {
    await tracker[Symbol.asyncDispose]()
    throw error
  }
  if (recorder.state.stopped === null) await recorder.record({ type: 'resumed', sandbox: options.sandbox.id })
  return makeRun(options, recorder, tracker)
}

/** One that is only to be ended needs nothing to compare with: its result says that there is no patch. */
async function requireBase(recorder: Recorder, options: ResumeOptions, tracker: ChangeTracker): Promise<void> {
  const { started } = recorder.state
  if (isToEnd(recorder, options) || started === null || 'missing' in started.base) return
  await tracker.requireBase(started.base.commit)
}

function isToEnd({ state }: Recorder, { told = [] }: ResumeOptions): boolean {
  return state.stopped !== null || told.some(({ kind }) => kind === 'stop')
}

/** SAFETY: what a hook was to forbid is not allowed because another process goes on. */
function requireHooks({ hooked }: Started, { hooks }: ResumeOptions): void {
  if (hooked !== true || hooks !== undefined) return
  throw new HearthError('invalid_request', 'hooks look at the calls of this run, and none were given', {
    suggestion: 'Give them again: `--hook-before COMMAND` or `--hook-after COMMAND`.',
  })
}

/** What was said about the price at the beginning counts until something else is said. */
function pricesOf({ model, price }: Started, { prices = {} }: ResumeOptions): Prices {
  return price === undefined ? prices : { [model]: price, ...prices }
}

async function recorderOf({ log, onEvent }: ResumeOptions): Promise<Recorder> {
  const recorder = new Recorder(log ?? new MemoryEventLog(), (event) => onEvent?.(event))
  await recorder.replay()
  return recorder
}

function makeRun(options: ResumeOptions, recorder: Recorder, tracker: ChangeTracker): AgentRun {
  const { started } = recorder.state
  if (started === null) throw new HearthError('internal', 'the run has not begun')
  const delegation = Delegation.of({ options, started, recorder, tracker, begin: startAgent })
  return new AgentRun(options, recorder, started, tracker, delegation)
}
