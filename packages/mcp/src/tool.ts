import { HearthError } from '@hearth/sdk'
import type { CallToolResult, McpServer, ToolAnnotations } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Session, Workplace } from './session.ts'

/** What a tool says: text for a model, and the same for programs where it has a shape. */
export interface Answer {
  readonly text: string
  readonly structured?: Record<string, unknown>
  /** The call was understood, and what it asked for failed. */
  readonly failed?: boolean
}

interface ToolDefinition<Input extends z.ZodRawShape> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Input
  readonly output?: z.ZodRawShape
  readonly annotations: ToolAnnotations
}

/** A tool that works in one sandbox, with the parameter that says in which. */
export interface SandboxTool<Input extends z.ZodRawShape = z.ZodRawShape> extends ToolDefinition<Input> {
  run(input: z.output<z.ZodObject<Input>>, context: CallContext): Promise<Answer>
}

export interface CallContext {
  readonly session: Session
  readonly workplace: Workplace
  /** Aborted when the client gives up. */
  readonly signal: AbortSignal
}

/** Keeps the types of input and `run` together. */
export function sandboxTool<Input extends z.ZodRawShape>(tool: SandboxTool<Input>): SandboxTool {
  return tool as unknown as SandboxTool
}

export const READS = { readOnlyHint: true, openWorldHint: false } as const
export const CHANGES = { readOnlyHint: false, destructiveHint: false, openWorldHint: false } as const
export const DESTROYS = { readOnlyHint: false, destructiveHint: true, openWorldHint: false } as const

const sandboxParameter = z
  .string()
  .max(64)
  .optional()
  .describe('The id of a sandbox. Default: the one of this session.')

export function addSandboxTool(server: McpServer, session: Session, tool: SandboxTool): void {
  add(server, { ...tool, input: { ...tool.input, sandbox: sandboxParameter } }, async (input, signal) => {
    const { sandbox, ...rest } = input as { sandbox?: string }
    const workplace = await session.workplace(sandbox)
    return await tool.run(rest as never, { session, workplace, signal })
  })
}

export function add<Input extends z.ZodRawShape>(
  server: McpServer,
  tool: ToolDefinition<Input>,
  run: (input: z.output<z.ZodObject<Input>>, signal: AbortSignal) => Promise<Answer>,
): void {
  const { name, title, description, annotations, input, output } = tool
  const config = {
    title,
    description,
    annotations,
    inputSchema: z.strictObject(input),
    ...(output === undefined ? {} : { outputSchema: z.object(output) }),
  }
  server.registerTool(name, config, async (parsed: unknown, context): Promise<CallToolResult> => {
    try {
      return result(await run(parsed as z.output<z.ZodObject<Input>>, context.mcpReq.signal))
    } catch (error) {
      return refusal(error)
    }
  })
}

function result({ text, structured, failed }: Answer): CallToolResult {
  return {
    content: [{ type: 'text', text }],
    ...(structured === undefined ? {} : { structuredContent: structured }),
    ...(failed === true ? { isError: true } : {}),
  }
}

/** A model reads errors too: what failed, and what to do about it. Anything that is not Hearth's own is a fault of this program. */
function refusal(error: unknown): CallToolResult {
  if (!HearthError.isInstance(error)) throw error
  const { code, message, suggestion } = error
  const text = suggestion === '' ? message : `${message}\n${suggestion}`
  return { content: [{ type: 'text', text: `${code}: ${text}` }], isError: true }
}
