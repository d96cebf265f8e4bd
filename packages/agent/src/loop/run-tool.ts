import { HearthError, type ToolOutcome } from '@hearth/contract'
import { parseCall } from '../tools/toolbox.ts'
import { permissionFor } from '../tools/permissions.ts'
import type { Tool, ToolContext, ToolResult } from '../tools/tool.ts'
import type { ToolCall } from '../models/model.ts'
import type { CheckedCall, Hooks, ResumeOptions } from './options.ts'

/** What may be run, or what the model is told instead. */
export type Admission =
  | { readonly tool: Tool; readonly input: unknown }
  | { readonly outcome: Extract<ToolOutcome, 'malformed' | 'denied'>; readonly text: string }

type Rules = Pick<ResumeOptions, 'permissions' | 'approve' | 'hooks'>
type Decision = Awaited<ReturnType<NonNullable<Hooks['beforeTool']>>>

/** Checks a call in every way there is: its form, the hook, the rules. The rules come last, so that no hook gets around them. */
export async function admit(
  tools: readonly Tool[],
  call: ToolCall,
  rules: Rules,
  signal: AbortSignal,
): Promise<Admission> {
  if (call.malformed !== undefined) return { outcome: 'malformed', text: `${call.malformed}; nothing was done` }
  const parsed = parseCall(tools, call.name, call.input)
  if ('malformed' in parsed) return { outcome: 'malformed', text: `${parsed.malformed}; nothing was done` }
  const { tool } = parsed
  const hooked = await askHook(rules, { name: tool.name, input: parsed.input })
  if (hooked !== undefined && 'deny' in hooked) return denied(hooked.deny)
  const changed = hooked === undefined ? parsed : parseCall(tools, call.name, hooked.input)
  if ('malformed' in changed) return denied(`the hook gave a wrong input: ${changed.malformed}`)
  const { input } = changed
  const action = permissionFor(rules.permissions ?? [], tool.name, tool.subject(input))
  if (action === 'deny') return denied('a rule forbids it')
  if (action === 'ask' && !(await approved(rules, { name: tool.name, input }, signal)))
    return denied('it was not approved')
  return { tool, input }
}

function denied(reason: string): Admission {
  return { outcome: 'denied', text: `not allowed: ${reason}; nothing was done` }
}

/** SAFETY: a hook that fails cannot be taken as one that agrees. */
async function askHook(rules: Rules, call: CheckedCall): Promise<Decision> {
  try {
    return await rules.hooks?.beforeTool?.(call)
  } catch (error) {
    return { deny: `the hook before the tool failed: ${messageOf(error)}` }
  }
}

async function approved(rules: Rules, call: CheckedCall, signal: AbortSignal): Promise<boolean> {
  const { promise: stopped, resolve } = Promise.withResolvers<false>()
  const stop = (): void => resolve(false)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return (await Promise.race([rules.approve?.(call), stopped])) === true
  } catch {
    // Nobody has agreed; the model is told that it was not approved.
    return false
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Without these no tool works any more. */
const FATAL: ReadonlySet<string> = new Set(['sandbox_ended', 'sandbox_not_found', 'link_lost', 'protocol_violation'])

export function isSandboxLost(error: unknown): boolean {
  return HearthError.isInstance(error) && FATAL.has(error.code)
}

/** The sandbox may be there still: what leads to it has failed, for example because the server is started anew. */
export function isLinkLost(error: unknown): boolean {
  return HearthError.isInstance(error) && error.code === 'link_lost'
}

/** Runs it and the hook after it. What the sandbox refuses is told to the model; a sandbox that is gone is thrown. */
export async function runTool(tool: Tool, input: unknown, context: ToolContext, rules: Rules): Promise<ToolResult> {
  const result = await attempt(() => tool.run(input, context), context.signal)
  try {
    const text = await rules.hooks?.afterTool?.({ name: tool.name, input }, result)
    return text === undefined ? result : { ...result, text }
  } catch (error) {
    return { ...result, text: `${result.text}\n(the hook after the tool failed: ${messageOf(error)})` }
  }
}

/** What fails in a sandbox is an answer like any other, except when the sandbox itself is gone. */
export async function attempt(work: () => Promise<ToolResult>, signal: AbortSignal): Promise<ToolResult> {
  try {
    return await work()
  } catch (error) {
    if (isLinkLost(error)) return { text: messageOf(error), failed: true, interrupted: true, unreachable: true }
    if (isSandboxLost(error)) throw error
    if (signal.aborted) return { text: 'stopped because the run was stopped', failed: true, interrupted: true }
    return { text: `failed: ${messageOf(error)}`, failed: true }
  }
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 2000)
}
