import { stat, writeFile } from 'node:fs/promises'
import { openModel, startAgent, type AgentEvent, type AgentResult, type AgentRun, type Model } from '@hearth/agent'
import { HearthError } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { CopyProgress } from '../copy/copy-progress.ts'
import { onLocal } from '../copy/local-failure.ts'
import { packDirectory } from '../copy/pack.ts'
import { signalNumber } from '../exit-codes.ts'
import { Interrupts } from '../interrupts.ts'
import { sandboxFields, withoutUndefined, type SandboxOptions } from '../options/sandbox-options.ts'
import { eventLine, resultLine } from '../output/agent-view.ts'
import { write } from '../output/write.ts'

export interface AgentCommandOptions extends SandboxOptions {
  readonly repo?: string
  readonly model?: string
  readonly verify?: string
  readonly maxSteps?: number
  readonly maxCost?: number
  readonly maxTime?: number
  readonly diff?: string
  readonly json?: boolean
  readonly quiet?: boolean
}

const WORKDIR = '/workspace'
const COMMAND_MS = 30 * 60_000
const RUN_MS = 60 * 60_000
/** The sandbox outlives the run by this, for what comes after it; its deadline is the backstop. */
const MARGIN_MS = 10 * 60_000

/** Copies a directory into a fresh sandbox, lets a model work on it, and gives the patch. Returns the exit code of this program. */
export async function agent(task: string, options: AgentCommandOptions): Promise<number> {
  const { repo = '.', workdir = WORKDIR, ...rest } = options
  const model = await modelOf(options.model)
  const status = await onLocal(repo, async () => await stat(repo))
  if (!status.isDirectory()) throw new HearthError('not_a_directory', `${repo} is not a directory`)
  using interrupts = new Interrupts()
  await using hearth = new Hearth({ spareKeepers: 0 })
  const spec = sandboxFields(rest, options.timeout ?? COMMAND_MS)
  await using sandbox = await hearth.create(
    { ...spec, ttlMs: (options.maxTime ?? RUN_MS) + MARGIN_MS },
    { signal: interrupts.signal },
  )
  await sandbox.files.makeDirectory(workdir, { parents: true })
  using progress = new CopyProgress(options.quiet === true || options.json === true)
  await sandbox.files.extract(workdir, packDirectory(repo, progress), { signal: interrupts.signal })
  progress[Symbol.dispose]()
  const run = await startAgent({
    sandbox,
    model,
    task,
    workdir,
    budget: withoutUndefined({ steps: options.maxSteps, dollars: options.maxCost, wallTimeMs: options.maxTime }),
    onEvent: (event) => show(event, options),
    ...(options.verify === undefined ? {} : { verify: options.verify }),
  })
  const result = await stoppable(run, interrupts)
  await give(result, options)
  if (interrupts.received !== null) return 128 + signalNumber(interrupts.received)
  return result.reason === 'submitted' ? 0 : 1
}

/** By its name, or whichever there is a key for. */
export async function modelOf(name: string | undefined): Promise<Model> {
  if (name !== undefined) return await openModel(name)
  if (hasKey('ANTHROPIC_API_KEY')) return await openModel('anthropic:claude-sonnet-4-5')
  if (hasKey('OPENAI_API_KEY')) return await openModel('openai:gpt-5')
  throw new HearthError('invalid_request', 'there is no model: neither ANTHROPIC_API_KEY nor OPENAI_API_KEY is set', {
    suggestion: 'Set one of them, name a model with --model, or try it out with --model scripted:FILE.',
  })
}

function hasKey(variable: string): boolean {
  return (process.env[variable] ?? '') !== ''
}

/** An interrupt ends the run and not this program: the patch of what was done is still given. */
async function stoppable(run: AgentRun, interrupts: Interrupts): Promise<AgentResult> {
  const stop = (): void => run.stop(`stopped by ${interrupts.received}`)
  if (interrupts.signal.aborted) stop()
  interrupts.signal.addEventListener('abort', stop, { once: true })
  return await run.result
}

function show(event: AgentEvent, options: AgentCommandOptions): void {
  if (options.json === true) process.stdout.write(`${JSON.stringify(event)}\n`)
  else if (options.quiet !== true) {
    const line = eventLine(event)
    if (line !== null) process.stderr.write(`${line}\n`)
  }
}

async function give(result: AgentResult, { json, quiet, diff: file }: AgentCommandOptions): Promise<void> {
  if (json !== true && quiet !== true) process.stderr.write(`${resultLine(result)}\n`)
  if (!result.diff.available) return
  const { patch } = result.diff
  if (file !== undefined) await onLocal(file, async () => await writeFile(file, patch))
  else if (json !== true) await write(process.stdout, patch)
}
