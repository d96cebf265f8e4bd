import { HearthError } from '@hearth/sdk'
import type { CallToolResult, McpServer, StandardSchemaWithJSON, ToolAnnotations } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { described } from './described-schema.ts'
import type { OlderClient } from './older-calls.ts'
import { patiently, PATIENCE_MS } from './patience.ts'
import { tellProgress } from './progress.ts'
import type { Session, Workplace } from './session.ts'

/** What a tool says: text for a model, and the same for programs, unless it failed. */
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
  readonly output: z.ZodRawShape
  readonly annotations: ToolAnnotations
}

type InputOf<Input extends z.ZodRawShape> = z.output<z.ZodObject<Input>>

/** A tool of the session as a whole. */
interface SessionTool<Input extends z.ZodRawShape> extends ToolDefinition<Input> {
  run(input: InputOf<Input>, session: Session, signal: AbortSignal): Promise<Answer>
}

/** A tool that works in one sandbox; a parameter says in which. */
interface SandboxTool<Input extends z.ZodRawShape> extends ToolDefinition<Input> {
  run(input: InputOf<Input>, context: CallContext): Promise<Answer>
}

export interface CallContext {
  readonly session: Session
  readonly workplace: Workplace
  /** When the call came. */
  readonly began: number
  /** Aborted when the client gives up. */
  readonly signal: AbortSignal
}

export const READS = { readOnlyHint: true, openWorldHint: false } as const
export const CHANGES = { readOnlyHint: false, destructiveHint: false, openWorldHint: false } as const
export const DESTROYS = { readOnlyHint: false, destructiveHint: true, openWorldHint: false } as const

/** A tool as a server is given it. All that does not depend on the session is made once: over HTTP each request has a server. */
export interface Tool {
  readonly name: string
  readonly config: {
    readonly title: string
    readonly description: string
    readonly annotations: ToolAnnotations
    readonly inputSchema: StandardSchemaWithJSON
    readonly outputSchema: StandardSchemaWithJSON
  }
  readonly call: (input: unknown, session: Session, signal: AbortSignal) => Promise<Answer>
}

export function sessionTool<Input extends z.ZodRawShape>(tool: SessionTool<Input>): Tool {
  const { name, title, description, annotations, input, output } = tool
  return {
    name,
    config: {
      title,
      description,
      annotations,
      inputSchema: described(z.strictObject(input)),
      outputSchema: described(z.object(output)),
    },
    call: (given, session, signal) => tool.run(given as InputOf<Input>, session, signal),
  }
}

const AGAIN = 'Make the same call again: it goes on where this one stopped waiting.'

const sandboxParameter = z
  .string()
  .max(64)
  .optional()
  .describe('The id of a sandbox. Default: the one of this session.')

export function sandboxTool<Input extends z.ZodRawShape>(tool: SandboxTool<Input>): Tool {
  return sessionTool({
    ...tool,
    input: { ...tool.input, sandbox: sandboxParameter },
    run: async (given, session, signal) => {
      const { sandbox, ...rest } = given as { sandbox?: string }
      const waiting = { signal, suggestion: AGAIN, patienceMs: session.patienceMs }
      const began = Date.now()
      let id = sandbox
      try {
        const workplace = await patiently(() => session.workplace(sandbox), waiting)
        id = workplace.sandbox.id
        return await tool.run(rest as InputOf<Input>, { session, workplace, began, signal })
      } catch (error) {
        if (!isGone(error)) throw error
        throw (await patiently(() => session.successor(id), waiting)) ?? error
      }
    },
  })
}

/** What may take longer than clients wait, in full: the same call again comes back for it. */
export async function inTime<T>(
  { session, workplace, began, signal }: CallContext,
  { name, what }: { readonly name: readonly unknown[]; readonly what: string },
  make: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  // The sandbox may have been waited for already.
  const patienceMs = Math.max(0, (session.patienceMs ?? PATIENCE_MS) - (Date.now() - began))
  const waiting = { signal, what, suggestion: AGAIN, patienceMs }
  return await session.unfinished.wait(JSON.stringify([workplace.sandbox.id, ...name]), make, waiting)
}

function isGone(error: unknown): boolean {
  return HearthError.isInstance(error) && ['sandbox_ended', 'sandbox_not_found'].includes(error.code)
}

export function addTool(server: McpServer, session: Session, tool: Tool, older: OlderClient | null): void {
  const { name, config, call } = tool
  server.registerTool(name, config, async (input: unknown, context): Promise<CallToolResult> => {
    using _progress = tellProgress(context)
    const { id, signal } = context.mcpReq
    using underWay = older?.begin(id) ?? null
    try {
      const ending = underWay === null ? signal : AbortSignal.any([signal, underWay.signal])
      return result(await call(input, session, ending))
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
