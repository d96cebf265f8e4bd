import { posix } from 'node:path'
import { edit, glob, grep, read, write, type Tool as AgentTool, type ToolContext } from '@hearth/agent/tools'
import { z } from 'zod'
import { CHANGES, DESTROYS, READS, sandboxTool, type CallContext, type Tool } from '../tool.ts'

/** Longer than any client waits. */
const SEARCH_MS = 45_000

/** What the agent's own tools want to know. */
export function agentContext({ workplace, signal }: CallContext): ToolContext {
  return { ...workplace, call: '', remainingMs: SEARCH_MS, signal, background: new Set() }
}

/** The tools that our own agent has, under the same names. */
function fromAgent(
  tool: AgentTool,
  title: string,
  annotations: Tool['config']['annotations'],
  output: z.ZodRawShape,
): Tool {
  const { shape } = tool.schema as z.ZodObject
  return sandboxTool({
    name: tool.name,
    title,
    description: tool.description,
    input: shape,
    output,
    annotations,
    run: async (input, context) => await tool.run(input, agentContext(context)),
  })
}

const MOST_ENTRIES = 1000

const list = sandboxTool({
  name: 'list',
  title: 'List a directory',
  description: 'Lists a directory of the sandbox: type, size and name.',
  input: { path: z.string().max(4096).optional().describe('Default: the working directory.') },
  output: {
    entries: z.array(z.object({ name: z.string(), type: z.string(), size: z.number() })),
    truncated: z.boolean(),
  },
  annotations: READS,
  run: async ({ path }, { workplace: { sandbox, workdir } }) => {
    const all = await sandbox.files.list(posix.resolve(workdir, path ?? '.'))
    const entries = all.slice(0, MOST_ENTRIES).map(({ name, type, size }) => ({ name, type, size }))
    const lines = entries.map(({ name, type, size }) => `${type}\t${size}\t${name}`)
    const truncated = all.length > entries.length
    const more = truncated ? `\n(only ${entries.length} of ${all.length} are shown)` : ''
    return { text: lines.length === 0 ? '(empty)' : lines.join('\n') + more, structured: { entries, truncated } }
  },
})

const file = { path: z.string(), sizeBytes: z.number() }

export const FILE_TOOLS: readonly Tool[] = [
  fromAgent(read, 'Read a file', READS, { ...file, text: z.string().describe('With line numbers.') }),
  fromAgent(write, 'Write a file', { ...DESTROYS, idempotentHint: true }, file),
  fromAgent(edit, 'Edit a file', CHANGES, { path: z.string(), replaced: z.number().describe('Places.') }),
  list,
  fromAgent(grep, 'Search in files', READS, { lines: z.array(z.string()), truncated: z.boolean() }),
  fromAgent(glob, 'Find files', READS, { paths: z.array(z.string()), truncated: z.boolean() }),
]
