import { HearthError, type Sandbox } from '@hearth/contract'
import { z } from 'zod'
import { follow, report } from './command-output.ts'
import { defineTool, type Tool, type ToolContext, type ToolResult } from './tool.ts'

/** How long a command may run when the model does not say, and at the most. */
const DEFAULT_COMMAND_MS = 120_000
const LONGEST_COMMAND_MS = 600_000
/** A command that takes longer goes on by itself, and the model has its turn. */
const YIELD_MS = 60_000
/** A command in the background that fails at once is reported at once. */
const BACKGROUND_MS = 500
const POLL_MS = 10_000
const LONGEST_POLL_MS = 120_000

/** Programs that ask, page or draw have nobody to do it for. */
export const TOOL_ENVIRONMENT = {
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  MANPAGER: 'cat',
  GIT_TERMINAL_PROMPT: '0',
  DEBIAN_FRONTEND: 'noninteractive',
  PIP_PROGRESS_BAR: 'off',
  TQDM_DISABLE: '1',
  NO_COLOR: '1',
  CI: '1',
} as const

const commandSchema = z
  .string()
  .min(1)
  .max(64 * 1024)
  .regex(/^[^\0]*$/, 'must not contain NUL')

const shells = new WeakMap<Sandbox, boolean>()

/** bash where the sandbox has it, else its `sh`. */
export async function shellCommand(sandbox: Sandbox, command: string): Promise<string | string[]> {
  let hasBash = shells.get(sandbox)
  if (hasBash === undefined) {
    hasBash = await probeBash(sandbox)
    shells.set(sandbox, hasBash)
  }
  return hasBash ? ['bash', '-c', command] : command
}

async function probeBash(sandbox: Sandbox): Promise<boolean> {
  try {
    return (await sandbox.exec(['bash', '-c', 'exit 0'])).exitCode === 0
  } catch (error) {
    if (HearthError.isInstance(error) && error.code === 'spawn_failed') return false
    throw error
  }
}

/** Runs a command in the working directory to its end, or to when it is let go. Used by `bash`, and for the check of a submission. */
export async function runCommand(
  command: string,
  options: { readonly timeoutMs: number | null; readonly waitMs: number },
  context: ToolContext,
): Promise<ToolResult> {
  const { sandbox, workdir, signal, remainingMs } = context
  const timeoutMs = options.timeoutMs === null ? null : Math.max(1, Math.min(options.timeoutMs, remainingMs))
  const process = await sandbox.spawn(await shellCommand(sandbox, command), {
    cwd: workdir,
    env: TOOL_ENVIRONMENT,
    mergeOutput: true,
    ...(timeoutMs === null ? {} : { timeoutMs: Math.ceil(timeoutMs) }),
  })
  return await report(process, await follow(process, options.waitMs, signal), context)
}

export const bash: Tool = defineTool({
  name: 'bash',
  description:
    'Runs a command in a shell, in the working directory. Each call is a new shell: `cd` and variables do not last. ' +
    'A command that takes longer than a minute goes on in the background, and its process number is given.',
  schema: z.object({
    command: commandSchema,
    timeout_ms: z
      .int()
      .min(1)
      .max(LONGEST_COMMAND_MS)
      .optional()
      .describe('End the command and everything it started after this time. Default 120000.'),
    background: z
      .boolean()
      .optional()
      .describe('Do not wait: for servers and the like. It has no timeout, and ends with bash_kill or with the run.'),
  }),
  subject: ({ command }) => command,
  run: async ({ command, timeout_ms, background }, context) =>
    await runCommand(
      command,
      background === true
        ? { timeoutMs: null, waitMs: BACKGROUND_MS }
        : { timeoutMs: timeout_ms ?? DEFAULT_COMMAND_MS, waitMs: YIELD_MS },
      context,
    ),
  abandon: async ({ command }, context) => await endCommand(command, context),
})

/** Ends what still runs of a command that an earlier process of the agent, or one that lost the sandbox, had begun. */
export async function endCommand(command: string, context: ToolContext): Promise<void> {
  await endWhere((words) => words.at(-1) === command || (isCut(command) && words.at(-1) === '-c'), context)
}

/** Words of a command are listed as far as they fit into a little more than this: of a long one nothing but the shell is. */
const LISTED_BYTES = 900

function isCut(command: string): boolean {
  return Buffer.byteLength(command) > LISTED_BYTES
}

/** Ends the processes whose commands fit, except those that the run knows to go on in the background. */
export async function endWhere(
  fits: (words: readonly string[]) => boolean,
  { sandbox, background }: ToolContext,
): Promise<void> {
  for (const { id, exit, command: words } of await sandbox.processes()) {
    if (exit !== null || background.has(id) || !fits(words)) continue
    await using process = await sandbox.attach(id)
    await process.kill()
  }
}

const processSchema = z.int().min(1)

export const bashOutput: Tool = defineTool({
  name: 'bash_output',
  description:
    'Shows what a process in the background has written since it was last looked at, and whether it has ended.',
  schema: z.object({
    process: processSchema,
    wait_ms: z.int().min(0).max(LONGEST_POLL_MS).optional().describe('Wait this long for its end. Default 10000.'),
  }),
  subject: ({ process }) => String(process),
  run: async ({ process: id, wait_ms }, context) => {
    const offset = context.readOffsets.get(id) ?? 0
    const process = await context.sandbox.attach(id, { offset })
    const waitMs = Math.min(wait_ms ?? POLL_MS, context.remainingMs)
    const followed = await follow(process, waitMs, context.signal)
    return await report(process, { ...followed, offset: Math.max(offset, followed.offset) }, context)
  },
})

export const bashKill: Tool = defineTool({
  name: 'bash_kill',
  description: 'Ends a process in the background with everything it has started.',
  schema: z.object({ process: processSchema }),
  subject: ({ process }) => String(process),
  run: async ({ process: id }, { sandbox }) => {
    await using process = await sandbox.attach(id)
    await process.kill()
    return { text: `process ${id} was ended`, structured: { process: id } }
  },
})
