import { bashKill, follow, report, shellCommand, TOOL_ENVIRONMENT, type Followed } from '@hearth/agent/tools'
import { z } from 'zod'
import { DESTROYS, READS, sandboxTool, type Answer, type CallContext, type Tool } from '../tool.ts'
import { agentContext } from './agent-tools.ts'

/** Clients give up after a minute: whatever takes longer goes on, and is asked for again. */
const YIELD_MS = 30_000
const LONGEST_WAIT_MS = 45_000
const LONGEST_COMMAND_MS = 24 * 3_600_000

const outcome = {
  process: z.number().describe('For process_output and process_kill.'),
  running: z.boolean(),
  exitCode: z.number().nullable(),
  timedOut: z.boolean(),
  // Some clients show a model the structured result alone.
  output: z.string().describe('What it has written, and how it ended; the middle is left out when it is long.'),
}

const waitParameter = z
  .int()
  .min(0)
  .max(LONGEST_WAIT_MS)
  .optional()
  .describe(`Answer after this long at the latest; the command goes on. Default ${YIELD_MS}.`)

const exec = sandboxTool({
  name: 'exec',
  title: 'Run a command',
  description:
    'Runs a shell command in the sandbox and gives its output and exit code. One that takes longer than wait_ms goes on: process_output shows the rest.',
  input: {
    command: z
      .string()
      .min(1)
      .max(64 * 1024)
      .regex(/^[^\0]*$/, 'must not contain NUL'),
    cwd: z.string().max(4096).optional().describe('Default: the working directory of the sandbox.'),
    wait_ms: waitParameter,
    timeout_ms: z.int().min(1).max(LONGEST_COMMAND_MS).optional().describe('End the command after this time.'),
  },
  output: outcome,
  annotations: { ...DESTROYS, openWorldHint: true },
  run: async ({ command, cwd, wait_ms, timeout_ms }, context) => {
    const { sandbox, workdir } = context.workplace
    const process = await sandbox.spawn(await shellCommand(sandbox, command), {
      cwd: cwd ?? workdir,
      env: TOOL_ENVIRONMENT,
      mergeOutput: true,
      ...(timeout_ms === undefined ? {} : { timeoutMs: timeout_ms }),
    })
    return await answer(process, await follow(process, wait_ms ?? YIELD_MS, context.signal), context)
  },
})

const processOutput = sandboxTool({
  name: 'process_output',
  title: 'Output of a running command',
  description: 'Shows what a command that goes on has written since it was last looked at, and whether it has ended.',
  input: { process: z.int().min(1), wait_ms: waitParameter },
  output: outcome,
  annotations: READS,
  run: async ({ process: id, wait_ms }, context) => {
    const { sandbox, readOffsets } = context.workplace
    const offset = readOffsets.get(id) ?? 0
    const process = await sandbox.attach(id, { offset })
    // Who gives up looking ends nothing, and has not seen what came meanwhile.
    const followed = await follow(process, wait_ms ?? YIELD_MS, new AbortController().signal)
    context.signal.throwIfAborted()
    return await answer(process, { ...followed, offset: Math.max(offset, followed.offset) }, context)
  },
})

const processKill = sandboxTool({
  name: 'process_kill',
  title: 'End a running command',
  description: 'Ends a command that goes on, with everything it has started.',
  input: { process: z.int().min(1) },
  output: { process: z.number() },
  annotations: { ...DESTROYS, idempotentHint: true },
  run: async (input, context) => await bashKill.run(input, agentContext(context)),
})

async function answer(
  process: Parameters<typeof report>[0],
  followed: Followed,
  context: CallContext,
): Promise<Answer> {
  const reported = await report(process, followed, agentContext(context))
  const text = reported.text.replace('bash_output', 'process_output').replace('bash_kill', 'process_kill')
  const exit = followed.ending.kind === 'exited' ? followed.ending.exit : null
  return {
    text,
    structured: {
      process: process.id,
      running: followed.ending.kind === 'yielded',
      exitCode: exit?.exitCode ?? null,
      timedOut: exit?.timedOut ?? false,
      output: text,
    },
    // A command that fails is an answer, not an error of the tool, but models are told so by this alone.
    failed: exit !== null && exit.exitCode !== 0,
  }
}

export const COMMAND_TOOLS: readonly Tool[] = [exec, processOutput, processKill]
