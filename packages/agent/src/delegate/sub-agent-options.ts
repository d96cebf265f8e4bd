import { BOUNDS, type Grant, type RunId, type Sandbox } from '@hearth/contract'
import type { SharedBudget } from '../budget/shared-budget.ts'
import { listed } from '../changes/writable-paths.ts'
import type { AgentOptions, ResumeOptions } from '../loop/options.ts'
import type { Recorder } from '../loop/recorder.ts'
import type { DelegateOptions } from './delegate-options.ts'
import type { WantedSubAgent } from './delegate-tool.ts'
import { NestedLog } from './nested-log.ts'

export type SubAgentOptions = AgentOptions

interface Beginning {
  /** Of the run that it works for. */
  readonly options: ResumeOptions
  readonly delegate: DelegateOptions
  readonly shared: SharedBudget
  readonly run: RunId
  readonly wanted: WantedSubAgent
  readonly grant: Grant
  readonly sandbox: Sandbox
  /** When its machine ends. */
  readonly until: number
  readonly workdir: string
  readonly log: { readonly recorder: Recorder; readonly call: string }
  readonly state: { readonly directory: string; readonly commit: string }
}

/** What a sub-agent is begun with: rules and hooks are those of the run that it works for, since what they forbid is forbidden for it too. */
export function subAgentOptions(beginning: Beginning): SubAgentOptions {
  const { options, delegate, shared, run, wanted, grant, sandbox, until, workdir, log, state } = beginning
  const { tools, permissions, approve, hooks, prices, retries, temperature, maxOutputTokens, changeLimits } = options
  const passedOn = { tools, permissions, approve, hooks, prices, retries, temperature, maxOutputTokens, changeLimits }
  const given = Object.fromEntries(Object.entries(passedOn).filter(([, value]) => value !== undefined))
  const { steps, tokens, dollars, wallTimeMs } = grant.budget
  const leftMs = Math.max(1, Math.min(wallTimeMs ?? Infinity, Math.floor(until - Date.now())))
  return {
    ...given,
    model: delegate.model ?? options.model,
    delegate,
    shared,
    run,
    grant,
    sandbox,
    workdir,
    task: wanted.task,
    ...(wanted.verify === undefined ? {} : { verify: wanted.verify }),
    budget: {
      ...(steps === null ? {} : { steps }),
      ...(tokens === null ? {} : { tokens }),
      dollars,
      wallTimeMs: leftMs,
    },
    log: new NestedLog(log.recorder, log.call, run),
    stateDirectory: state.directory,
    base: state.commit,
    instructions: instructions(grant, options.instructions),
  }
}

function instructions({ paths: { write } }: Grant, more: string | undefined): string {
  const changes =
    write === 'any'
      ? 'What you change in the working directory is merged into that of the other agent'
      : write.length === 0
        ? 'You may change nothing: find out what you are asked for, and submit what you have found'
        : `You may change nothing but ${listed(write)}; that is merged into the files of the other agent`
  return [
    'You are a sub-agent: another agent has given you a part of its work. It sees nothing of what you do.',
    `${changes}. It reads the summary that you submit, of which it is shown ${BOUNDS.subAgentCharacters} characters at the most.`,
    ...(more === undefined || more === '' ? [] : [more]),
  ].join('\n')
}
