import { BOUNDS, type Grant } from '@hearth/contract'
import { z } from 'zod'
import { listed } from '../changes/writable-paths.ts'
import { pathSchema } from '../tools/guest-path.ts'
import { defineTool, type Tool, type ToolContext, type ToolResult } from '../tools/tool.ts'

export const DELEGATE = 'delegate'

const TASK_CHARACTERS = 20_000
const MOST_WORDS = 64

const words = z.array(z.string().min(1).max(512)).max(MOST_WORDS)
const paths = z.array(pathSchema).max(MOST_WORDS)

const subAgentSchema = z.object({
  task: z.string().min(1).max(TASK_CHARACTERS).describe('All that it is told: it knows nothing of this conversation.'),
  machine: z
    .enum(['fork', 'fresh'])
    .optional()
    .describe(
      'fork: a copy of your machine as it is now. fresh: a new one, with only the files it may read. Default fork.',
    ),
  tools: words.optional().describe('The tools that it has. Default: those that you have, without delegate.'),
  names: words.optional().describe('Names that it may reach, NAME or NAME:PORT. Default: none.'),
  secrets: words.optional().describe('Secrets that it may use, by name. Default: none.'),
  read: paths.optional().describe('What of your files it gets, in a fresh machine. Default: all that you have.'),
  write: paths.optional().describe('What it may change; [] for one that only looks. Default: all that you may change.'),
  steps: z.int().min(1).optional().describe('Calls of its model. Default: a share of what you have left.'),
  tokens: z.int().min(1).optional(),
  dollars: z.number().min(0).optional(),
  minutes: z.number().min(0.05).max(10_000).optional(),
  depth: z.int().min(0).max(BOUNDS.delegationDepth).optional().describe('Levels of sub-agents below it. Default 0.'),
  verify: z.string().min(1).max(4096).optional().describe('A command that must succeed before its work counts.'),
})
export type WantedSubAgent = z.output<typeof subAgentSchema>

const schema = z.object({ sub_agents: z.array(subAgentSchema).min(1).max(BOUNDS.delegatedTasks) })

type Run = (wanted: readonly WantedSubAgent[], context: ToolContext) => Promise<ToolResult>

/** Described by the grant that it gives parts of: a model asks for what it can have when it knows what that is. */
export function delegateTool(grant: Grant, run: Run): Tool {
  return defineTool({
    name: DELEGATE,
    description: [
      `Gives parts of the work to sub-agents, up to ${BOUNDS.delegatedTasks} side by side, each in a machine of its own. Returns when all have`,
      'ended: what each says, and the changes of those that submitted, merged into your files. What they use is taken from your budget.',
      `You can give on: ${describeGrant(grant)}. Whoever is asked for more is not begun, and you are told what is possible.`,
    ].join(' '),
    schema,
    subject: ({ sub_agents }) => sub_agents.map(({ task }) => task).join('\n'),
    run: async ({ sub_agents }, context) => await run(sub_agents, context),
  })
}

function describeGrant({ policy, secrets, paths: { read, write }, depth, children }: Grant): string {
  const names =
    policy === 'any'
      ? 'any'
      : listed(
          (policy.allow ?? [])
            .map((rule) => (typeof rule === 'string' ? rule : rule.name))
            .concat(policy.presets ?? []),
        )
  const list = (field: 'any' | readonly string[]): string =>
    field === 'any' ? 'any' : field.length === 0 ? 'none' : listed(field)
  return [
    `names: ${names === '' ? 'none' : names}`,
    `secrets: ${list(secrets)}`,
    `read: ${list(read)}`,
    `write: ${list(write)}`,
    `depth: at most ${depth - 1}`,
    `at one time: ${children}`,
  ].join('; ')
}
