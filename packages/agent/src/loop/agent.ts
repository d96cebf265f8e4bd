import { BOUNDS, HearthError, newId } from '@hearth/contract'
import { budgetOf } from '../budget/budget.ts'
import { ChangeTracker } from '../changes/change-tracker.ts'
import { Delegation } from '../delegate/delegation.ts'
import { budgetWithin, grantOf } from '../delegate/grant-of-run.ts'
import { MemoryEventLog } from '../events/event-log.ts'
import { AgentRun } from './agent-run.ts'
import type { AgentOptions, ResumeOptions } from './options.ts'
import { Recorder } from './recorder.ts'

/** Begins a run. The sandbox stays the caller's. */
export async function startAgent(options: AgentOptions): Promise<AgentRun> {
  const { sandbox, model, task, workdir = '/workspace', verify = null } = options
  if (task.trim() === '' || task.length > BOUNDS.runTaskCharacters) {
    throw new HearthError('invalid_request', `a task has 1 to ${BOUNDS.runTaskCharacters} characters`)
  }
  const wanted = budgetOf(options.budget ?? {}, model.name, options.prices ?? {})
  const grant = grantOf(options, wanted)
  const budget = grant === null ? wanted : budgetWithin(wanted, grant)
  const recorder = await recorderOf(options)
  if (recorder.state.next > 0) throw new HearthError('conflict', 'the log holds a run already; resume it')
  await sandbox.files.makeDirectory(workdir, { parents: true })
  const tracker = await ChangeTracker.open(options.stateDirectory ?? null, options.changeLimits)
  try {
    const base = options.base === undefined ? await beginOf(tracker, options, workdir) : { commit: options.base }
    await recorder.record({
      type: 'started',
      run: options.run ?? newId('run'),
      task,
      model: model.name,
      sandbox: sandbox.id,
      workdir,
      verify,
      budget,
      base,
      ...(grant === null ? {} : { grant }),
    })
    return makeRun(options, recorder, tracker)
  } catch (error) {
    await tracker[Symbol.asyncDispose]()
    throw error
  }
}

/** Goes on with a run that another process began. A call that was under way is told to the model as interrupted, and never repeated. */
export async function resumeAgent(options: ResumeOptions): Promise<AgentRun> {
  const recorder = await recorderOf(options)
  if (recorder.state.started === null) throw new HearthError('not_found', 'the log holds no run')
  const tracker = await ChangeTracker.open(options.stateDirectory ?? null, options.changeLimits)
  if (recorder.state.stopped === null) await recorder.record({ type: 'resumed', sandbox: options.sandbox.id })
  return makeRun(options, recorder, tracker)
}

async function recorderOf({ log, onEvent }: ResumeOptions): Promise<Recorder> {
  const recorder = new Recorder(log ?? new MemoryEventLog(), (event) => onEvent?.(event))
  await recorder.replay()
  return recorder
}

/** A working directory that cannot be read whole still can be worked in; the result says why there is no difference. */
async function beginOf(
  tracker: ChangeTracker,
  { sandbox }: ResumeOptions,
  workdir: string,
): Promise<{ commit: string } | { missing: string }> {
  try {
    return { commit: await tracker.begin(sandbox, workdir) }
  } catch (error) {
    if (HearthError.isInstance(error) && error.code === 'sandbox_ended') throw error
    return { missing: error instanceof Error ? error.message : String(error) }
  }
}

function makeRun(options: ResumeOptions, recorder: Recorder, tracker: ChangeTracker): AgentRun {
  const { started } = recorder.state
  if (started === null) throw new HearthError('internal', 'the run has not begun')
  const delegation = Delegation.of({ options, started, recorder, tracker, begin: startAgent })
  return new AgentRun(options, recorder, started, tracker, delegation)
}
