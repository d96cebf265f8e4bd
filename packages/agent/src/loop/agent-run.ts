import { posix } from 'node:path'
import { HearthError, type BudgetLimits, type RunMessage } from '@hearth/contract'
import type { ChangeTracker } from '../changes/change-tracker.ts'
import type { Delegation } from '../delegate/delegation.ts'
import { toolsOf } from '../tools/toolbox.ts'
import type { Tool, ToolContext } from '../tools/tool.ts'
import { askModel } from './ask-model.ts'
import { Boundary } from './boundary.ts'
import { Calls } from './calls.ts'
import { compact, isFull } from './compaction.ts'
import { Control } from './control.ts'
import { endProcesses } from './end-processes.ts'
import { forkRun, type ForkedRun, type ForkRunOptions } from './fork-run.ts'
import { nextMove, type Stop } from './next-move.ts'
import type { AgentResult, Diff, ResumeOptions } from './options.ts'
import { LogFailure, LogFull, type Recorder } from './recorder.ts'
import { resultBody, resultOf } from './result.ts'
import type { RunState } from './run-state.ts'
import { reach } from './reach.ts'
import { isLinkLost, isSandboxLost } from './run-tool.ts'

type Started = NonNullable<RunState['started']>

/** A run that is being worked on. It never ends the sandbox: whoever made it does, and its deadline is the backstop. */
export class AgentRun {
  readonly id: string
  /** Rejects only when the run was left, or cannot be written down any more. */
  readonly result: Promise<AgentResult>
  readonly #options: ResumeOptions
  readonly #started: Started
  readonly #recorder: Recorder
  readonly #tracker: ChangeTracker
  readonly #control = new Control()
  readonly #delegation: Delegation | null
  readonly #tools: readonly Tool[]
  readonly #calls: Calls
  readonly #readOffsets = new Map<number, number>()
  readonly #boundary = new Boundary()
  #told: Promise<unknown> = Promise.resolve()
  #standing: Promise<void> | null = null

  constructor(
    options: ResumeOptions,
    recorder: Recorder,
    started: Started,
    tracker: ChangeTracker,
    delegation: Delegation | null,
  ) {
    this.#options = delegation === null ? options : { ...options, shared: delegation.shared }
    this.#recorder = recorder
    this.#started = started
    this.#tracker = tracker
    this.#delegation = delegation
    this.#tools = toolsOf(options, started.grant, delegation?.tool ?? null)
    this.#calls = new Calls({
      options,
      started,
      recorder,
      tools: this.#tools,
      contextOf: (call) => this.#contextOf(call),
      diff: async () => await this.#diff(),
    })
    this.id = recorder.state.run
    for (const message of options.told ?? []) this.tell(message)
    this.result = this.#run()
  }

  /** Where in the sandbox it works. */
  get workdir(): string {
    return this.#started.workdir
  }

  /** The number of the last message of a person that took effect. */
  get message(): number {
    return this.#state.message
  }

  /** What a person tells it. It is carried out in the order of the messages, except that a stop waits for nothing. */
  tell({ kind, text, number }: RunMessage): void {
    if (kind === 'stop') this.stop(text === '' ? undefined : text, number)
    else if (kind === 'resume') this.resume(number)
    else if (kind === 'pause') this.#told = Promise.all([this.#told, this.pause(number)])
    // What cannot be written down is the end of the run, which its result tells; one that has ended needs no message.
    else this.#told = this.#told.then(() => this.steer(text, number)).catch(() => undefined)
  }

  /** After what is being done now, by it and by its sub-agents. Resolves when it is written down, or taken back. `message`: that of a person who asked for it. */
  async pause(message?: number): Promise<void> {
    const begun = this.#control.beginPause(message)
    if (this.#delegation?.busy === true) void this.#pauseWithSubAgents(this.#delegation)
    await begun
  }

  resume(message?: number): void {
    this.#control.resume(message)
  }

  /** A message that the model gets before its next reply. It is written down when this resolves. */
  async steer(text: string, message?: number): Promise<void> {
    if (this.#state.stopped !== null) throw new HearthError('invalid_state', 'the run has ended')
    await this.#recorder.record({ type: 'steered', text, ...by(message) })
  }

  /** At once: what is being done is ended. */
  stop(detail = 'it was stopped from outside', message?: number): void {
    this.#control.stop({ cut: 'stopped', detail, ...by(message) })
  }

  /** Nothing more is done here. The run has not ended: another process can go on with it. */
  leave(detail: string): void {
    this.#control.stop({ cut: 'left', detail })
  }

  /**
   * Copies of it as it is now, machine and conversation, to go on with `resumeAgent`. It is done between two moves, never in the middle of
   * a call, and the run goes on afterwards.
   */
  async fork(options: Omit<ForkRunOptions, 'sandbox' | 'log' | 'state'> = {}): Promise<ForkedRun[]> {
    const { sandbox } = this.#options
    const { log } = this.#recorder
    const state = { directory: this.#tracker.directory, copied: this.#tracker.temporary }
    return await this.#boundary.at(async () => await forkRun({ ...options, sandbox, log, state }))
  }

  get #state(): RunState {
    return this.#recorder.state
  }

  get #limits(): BudgetLimits {
    return this.#started.budget
  }

  async #run(): Promise<AgentResult> {
    using _control = this.#control
    await using _tracker = this.#tracker
    using boundary = this.#boundary
    this.#limitTime()
    while (this.#state.stopped === null) {
      await boundary.pass()
      const stop = await this.#advance()
      if (stop !== null) await this.#recorder.record({ type: 'stopped', ...stop })
    }
    return await this.#finish()
  }

  #remainingMs(): number {
    const own = Math.max(0, this.#limits.wallTimeMs - this.#state.spentAt(Date.now()).wallTimeMs)
    return Math.min(own, this.#options.shared?.remainingMs ?? Infinity)
  }

  #limitTime(): void {
    this.#control.limit(this.#remainingMs())
  }

  /** A call that has given work on may take as long as the run: it does not wait for the end of the call. */
  async #pauseWithSubAgents(delegation: Delegation): Promise<void> {
    await delegation.pause()
    // What cannot be written down is found out by the call too, which ends the run.
    await this.#whilePaused().catch(() => undefined)
    if (this.#control.pause === null) delegation.resume()
  }

  async #whilePaused(): Promise<void> {
    const { pause } = this.#control
    if (pause !== null) this.#standing ??= this.#standStill(pause.message).finally(() => (this.#standing = null))
    await this.#standing
  }

  async #standStill(asked: number | undefined): Promise<void> {
    await this.#recorder.record({ type: 'paused', ...by(asked) })
    this.#control.unlimit()
    this.#delegation?.shared.standStill()
    const message = await this.#control.opened()
    this.#delegation?.shared.goOn()
    await this.#recorder.record({ type: 'resumed', ...by(message) })
    this.#limitTime()
  }

  /** Does one thing, which the state alone decides. Returns why the run ends, if it does. */
  async #advance(): Promise<Stop | null> {
    const { cut } = this.#control
    if (cut?.cut === 'left') throw new HearthError('aborted', cut.detail)
    if (cut !== null) return { reason: cut.cut, detail: cut.detail, ...by(cut.message) }
    const accepted = acceptedSubmission(this.#state)
    if (accepted !== null) return accepted
    try {
      await this.#whilePaused()
      if (this.#control.cut !== null) return null
      const [pending] = this.#state.pending
      if (pending !== undefined) await this.#calls.answer(pending)
      return pending === undefined ? await this.#ask() : null
    } catch (error) {
      if (error instanceof LogFailure) throw error
      if (error instanceof LogFull) return { reason: 'log_full', detail: error.message }
      // Read again: it may have been cut short while it worked, and what broke is the consequence.
      if (this.#control.cut !== null) return null
      if (isSandboxLost(error)) return { reason: 'sandbox_ended', detail: (error as Error).message }
      throw error
    }
  }

  async #ask(): Promise<Stop | null> {
    const { model, shared } = this.#options
    const own = { limits: this.#limits, spent: this.#state.spentAt(Date.now()) }
    const move = nextMove(this.#state, [own, ...(shared?.chain ?? [])])
    if (move !== null && 'stop' in move) return move.stop
    if (move !== null) {
      await this.#recorder.record({ type: 'reminded', ...move.remind })
      return null
    }
    const shortened = isFull(this.#state, model.contextTokens) ? compact(this.#state, model.contextTokens) : null
    if (shortened !== null && !this.#state.compactedSinceReply) {
      await this.#recorder.record({ type: 'compacted', ...shortened })
    }
    const { workdir, verify } = this.#started
    return await askModel({
      model,
      recorder: this.#recorder,
      tools: this.#tools,
      options: this.#options,
      limits: this.#limits,
      workdir,
      verify,
      signal: this.#control.signal,
    })
  }

  #contextOf(call: string): ToolContext {
    return {
      sandbox: this.#options.sandbox,
      call,
      workdir: this.#started.workdir,
      keptDirectory: posix.join('/tmp/hearth-agent', this.id),
      remainingMs: this.#remainingMs(),
      signal: this.#control.signal,
      readOffsets: this.#readOffsets,
      background: this.#state.processes,
    }
  }

  async #diff(again = true): Promise<Diff> {
    const { base, workdir } = this.#started
    if ('missing' in base) return { available: false, reason: base.missing }
    const { sandbox } = this.#options
    try {
      await reach(sandbox, this.#control.signal)
      return { available: true, ...(await this.#tracker.changes(base.commit, sandbox, workdir)) }
    } catch (error) {
      if (isLinkLost(error) && again) return await this.#diff(false)
      return { available: false, reason: error instanceof Error ? error.message : String(error) }
    }
  }

  async #finish(): Promise<AgentResult> {
    const { stopped, submission } = this.#state
    if (stopped === null) throw new HearthError('internal', 'the run has not ended')
    if (this.#state.result !== null) return resultOf(this.#state.result)
    await endProcesses(this.#options.sandbox, this.#state.processes)
    const result: AgentResult = {
      reason: stopped.reason,
      detail: stopped.detail,
      summary: submission?.summary ?? null,
      verified: submission?.verified ?? null,
      diff: await this.#diff(),
      ...this.#state.spentAt(stopped.at),
    }
    await this.#recorder.record(resultBody(result))
    return result
  }
}

function by(message: number | undefined): { message?: number } {
  return message === undefined ? {} : { message }
}

function acceptedSubmission({ submission }: RunState): Stop | null {
  if (submission?.accepted !== true) return null
  if (submission.changed === false) return { reason: 'no_change', detail: 'it was submitted, and nothing has changed' }
  return { reason: 'submitted', detail: submission.verified === true ? 'the check has passed' : 'it was not checked' }
}
