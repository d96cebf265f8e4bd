import type { RunState } from './run-state.ts'
import { interruptedSubAgents } from '../delegate/interrupted.ts'
import { endCommand } from '../tools/bash.ts'
import { submit } from '../tools/toolbox.ts'
import type { Tool, ToolContext } from '../tools/tool.ts'
import type { Diff, ResumeOptions } from './options.ts'
import { reach } from './reach.ts'
import type { Recorder } from './recorder.ts'
import type { PendingCall } from './run-state.ts'
import { admit, attempt, runTool } from './run-tool.ts'
import { judgeSubmission, type Judged } from './submission.ts'

const INTERRUPTED =
  'interrupted: the agent was stopped or lost the sandbox while this ran. It may have taken effect in part or in whole; what was still running was ended. Look before you repeat it.'

/** Answers to one reply: more of them could not be shortened, since the newest turn stays whole. */
const ANSWERED_SHARE = 0.3
const CHARACTERS_PER_TOKEN = 3.5
const TOO_MUCH =
  'not run: what the calls of this reply were answered with is as long as the conversation can take at once; call it again if you still need it'

type SubmitOutcome = Required<Pick<Judged, 'accepted' | 'unreachable' | 'text'>>
type Outcome = 'ok' | 'failed' | 'malformed' | 'denied' | 'interrupted'

/** What a run answers the calls of its model with. */
interface Answering {
  readonly options: ResumeOptions
  readonly started: NonNullable<RunState['started']>
  readonly recorder: Recorder
  readonly tools: readonly Tool[]
  readonly contextOf: (call: string) => ToolContext
  readonly diff: () => Promise<Diff>
}

/** Answers the calls of a model, each after it was written down that it begins. */
export class Calls {
  readonly #given: Answering

  constructor(given: Answering) {
    this.#given = given
  }

  async answer({ call, begun }: PendingCall): Promise<void> {
    const { options, recorder, tools, contextOf } = this.#given
    const from = Date.now()
    const context = contextOf(call.id)
    const end = async (outcome: Outcome, observation: string, process?: number): Promise<void> =>
      await recorder.record({
        type: 'tool_ended',
        id: call.id,
        name: call.name,
        outcome,
        observation,
        durationMs: Date.now() - from,
        ...(process === undefined ? {} : { process }),
      })
    if (begun !== null) {
      const tool = tools.find((one) => one.name === call.name)
      return await end('interrupted', await this.#abandon(tool, begun.input, context))
    }
    const most = options.model.contextTokens * ANSWERED_SHARE * CHARACTERS_PER_TOKEN
    if (recorder.state.answeredCharacters > most && call.name !== submit.name) return await end('failed', TOO_MUCH)
    const admission = await admit(tools, call, options, context.signal)
    if ('outcome' in admission) return await end(admission.outcome, admission.text)
    const { tool, input } = admission
    await recorder.record({ type: 'tool_started', id: call.id, name: call.name, input })
    if (tool === submit) {
      const { accepted, unreachable, text } = await this.#submit(input, context)
      if (unreachable) return await end('interrupted', await this.#abandon(tool, input, context))
      return await end(accepted ? 'ok' : 'failed', text)
    }
    const result = await runTool(tool, input, context, options)
    if (result.unreachable === true) return await end('interrupted', await this.#abandon(tool, input, context))
    const outcome = result.interrupted === true ? 'interrupted' : result.failed === true ? 'failed' : 'ok'
    await end(outcome, result.text, result.process)
  }

  /** Ends what may still run of a call, and says what is known of it. */
  async #abandon(tool: Tool | undefined, input: unknown, context: ToolContext): Promise<string> {
    await reach(context.sandbox, context.signal)
    const { verify } = this.#given.started
    const { text } = await attempt(async () => {
      // What a submission runs is for the loop to say, and not for the tool.
      if (tool === submit && verify !== null) await endCommand(verify, context)
      return { text: (await tool?.abandon?.(input, context)) ?? '' }
    }, context.signal)
    const known = await interruptedSubAgents(this.#given.recorder.state.subAgents.of(context.call), context)
    return `${INTERRUPTED}${text === '' ? '' : ` (${text})`}${known === '' ? '' : `\n${known}`}`
  }

  async #submit(input: unknown, context: ToolContext): Promise<SubmitOutcome> {
    const { recorder, started, diff } = this.#given
    const { summary } = submit.schema.parse(input) as { summary: string }
    const saidBefore = recorder.state.submission?.changed === false
    const writable = started.grant?.paths.write ?? 'any'
    const judged = await judgeSubmission(await diff(), started.verify, saidBefore, writable, context)
    const { accepted, changed, verified, unreachable = false, text } = judged
    // Nothing was found out about it: it is not one that was refused.
    if (unreachable) return { accepted, unreachable, text }
    await recorder.record({ type: 'submitted', summary, accepted, changed, verified })
    return { accepted, unreachable, text }
  }
}
