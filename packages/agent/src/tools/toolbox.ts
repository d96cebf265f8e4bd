import type { Grant } from '@hearth/contract'
import { z } from 'zod'
import { bash, bashKill, bashOutput } from './bash.ts'
import { edit } from './edit.ts'
import { glob, grep } from './find-text.ts'
import { read } from './read.ts'
import { runCode } from './run-code.ts'
import { defineTool, type Tool } from './tool.ts'
import { write } from './write.ts'

/** The end of the work. What is checked before it counts is the loop's business, so that it does nothing by itself. */
export const submit: Tool = defineTool({
  name: 'submit',
  description:
    'Ends the work. Call it when the task is done and you have checked it, with a short summary of the change.',
  schema: z.object({ summary: z.string().max(20_000) }),
  subject: () => '',
  run: () => Promise.resolve({ text: '' }),
})

export const DEFAULT_TOOLS: readonly Tool[] = [
  bash,
  bashOutput,
  bashKill,
  read,
  write,
  edit,
  grep,
  glob,
  runCode,
  submit,
]

/** What a run may use of what it was given, with what gives work on and what ends it. */
export function toolsOf(
  { tools = DEFAULT_TOOLS }: { readonly tools?: readonly Tool[] },
  grant: Pick<Grant, 'tools'> | undefined,
  delegate: Tool | null,
): readonly Tool[] {
  const allowed = grant?.tools ?? 'any'
  const given = delegate === null ? tools : [...tools, delegate]
  const granted = given.filter((tool) => tool !== submit && (allowed === 'any' || allowed.includes(tool.name)))
  return [...granted, submit]
}

export type ParsedCall =
  | { readonly tool: Tool; readonly input: unknown }
  /** Why there is nothing to run, in words for the model. */
  | { readonly malformed: string }

/** SAFETY: what a model sends is checked here; nothing that does not fit the schema of a tool reaches it. */
export function parseCall(tools: readonly Tool[], name: string, input: unknown): ParsedCall {
  const tool = tools.find((one) => one.name === name)
  if (tool === undefined) {
    return {
      malformed: `there is no tool ${JSON.stringify(name.slice(0, 100))}; there are ${tools.map((one) => one.name).join(', ')}`,
    }
  }
  const result = tool.schema.safeParse(input)
  if (result.success) return { tool, input: result.data }
  const issues = result.error.issues.slice(0, 10).map((issue) => `${issue.path.join('.') || 'input'}: ${issue.message}`)
  return { malformed: `the input of ${name} is wrong: ${issues.join('; ')}` }
}
