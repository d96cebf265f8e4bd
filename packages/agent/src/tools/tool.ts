import type { Sandbox } from '@hearth/contract'
import { z } from 'zod'
import type { ToolDescription } from '../models/model.ts'

/** What a tool works with. */
export interface ToolContext {
  readonly sandbox: Sandbox
  /** The call that it is run for. */
  readonly call: string
  /** Relative paths begin here. */
  readonly workdir: string
  /** Where full texts are kept in the sandbox. */
  readonly keptDirectory: string
  /** A command may take this long at the most: what is left of the run. */
  readonly remainingMs: number
  /** Aborted when the run is stopped or its time is over. */
  readonly signal: AbortSignal
  /** How far the output of each process was told. */
  readonly readOffsets: Map<number, number>
  /** Processes that the run knows to go on in the background. */
  readonly background: ReadonlySet<number>
}

export interface ToolResult {
  readonly text: string
  /** The same for programs, where it has a shape. Models are shown the text. */
  readonly structured?: Record<string, unknown>
  readonly failed?: boolean
  /** Stopped from outside before its end: how far it came is not known. */
  readonly interrupted?: boolean
  /** Interrupted because the sandbox could not be reached. */
  readonly unreachable?: boolean
  /** A process that goes on. */
  readonly process?: number
}

export interface Tool {
  readonly name: string
  readonly description: string
  readonly schema: z.ZodType
  /** What rules about permissions look at: a command or a path. */
  subject(input: unknown): string
  /** Throws nothing but what the sandbox throws; `input` was parsed by `schema`. */
  run(input: unknown, context: ToolContext): Promise<ToolResult>
  /** Ends what an earlier process of the agent left behind when it died in the middle of this call. May say what came of it. */
  abandon?(input: unknown, context: ToolContext): Promise<string | void>
}

interface Definition<Schema extends z.ZodType> {
  readonly name: string
  readonly description: string
  readonly schema: Schema
  readonly subject: (input: z.output<Schema>) => string
  readonly run: (input: z.output<Schema>, context: ToolContext) => Promise<ToolResult>
  readonly abandon?: (input: z.output<Schema>, context: ToolContext) => Promise<string | void>
}

/** A tool of your own: its input is typed by its schema, and parsed before `run` sees it. */
export function defineTool<Schema extends z.ZodType>(definition: Definition<Schema>): Tool {
  const { name, description, schema, abandon } = definition
  return {
    name,
    description,
    schema,
    subject: (input) => definition.subject(input as z.output<Schema>),
    run: async (input, context) => await definition.run(input as z.output<Schema>, context),
    ...(abandon === undefined
      ? {}
      : { abandon: async (input, context) => await abandon(input as z.output<Schema>, context) }),
  }
}

export function describeTool({ name, description, schema }: Tool): ToolDescription {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(schema, { io: 'input' })
  return { name, description, inputSchema }
}
