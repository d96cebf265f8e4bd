import type { Sandbox } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { afterAll, expect } from 'vitest'
import { startAgent, type AgentEvent, type AgentOptions, type AgentResult } from '../../src/index.ts'
import type { ModelProgram, SaidCall } from './model-program.ts'
import { ModelServer } from './model-server.ts'
import { makeRepository, WORKDIR } from './repository.ts'

const hearth = new Hearth()
afterAll(async () => await hearth.dispose())

interface Lived {
  readonly result: AgentResult
  readonly events: readonly AgentEvent[]
  readonly server: ModelServer
  readonly sandbox: Sandbox
}

interface Surroundings extends Partial<AgentOptions> {
  readonly protocol?: Parameters<ModelServer['model']>[0]
  readonly contextTokens?: number
  readonly look?: (lived: Lived) => Promise<void>
  readonly during?: (event: AgentEvent, sandbox: Sandbox) => void
}

/** Lets a bad model loose on a repository, and gives what came of it. No machine is left. */
export async function live(program: ModelProgram, surroundings: Surroundings = {}): Promise<Lived> {
  const lived = await liveOnce(program, surroundings)
  expect((await hearth.list()).map(({ id }) => id)).not.toContain(lived.sandbox.id)
  return lived
}

async function liveOnce(program: ModelProgram, surroundings: Surroundings): Promise<Lived> {
  const { protocol = 'anthropic', contextTokens, look, during, ...options } = surroundings
  await using server = await ModelServer.start(program)
  await using sandbox = await hearth.create({ rung: 'process' })
  await makeRepository(sandbox)
  const events: AgentEvent[] = []
  const run = await startAgent({
    sandbox,
    workdir: WORKDIR,
    task: 'Fix the bug.',
    model: await server.model(protocol, contextTokens),
    retries: { firstDelayMs: 5, longestDelayMs: 20 },
    onEvent: (event) => {
      events.push(event)
      during?.(event, sandbox)
    },
    ...options,
  })
  const lived = { result: await run.result, events, server, sandbox }
  expect(server.problems).toEqual([])
  expectKept(lived)
  await look?.(lived)
  return lived
}

/** However bad the model was: the change is there as long as its machine was, and no limit was exceeded by more than one call. */
function expectKept({ result, events }: Lived): void {
  const [started] = events
  if (started?.type !== 'started') throw new Error('the run has no beginning')
  const { budget } = started
  const replies = events.flatMap((event) =>
    event.type === 'model_replied' || event.type === 'model_failed' ? [event] : [],
  )
  const costliest = Math.max(0, ...replies.map(({ dollars = 0 }) => dollars))
  const longest = Math.max(0, ...replies.map(({ usage }) => (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)))
  expect(result.diff.available).toBe(result.reason !== 'sandbox_ended')
  expect(result.steps).toBeLessThanOrEqual(budget.steps)
  expect(result.tokens).toBeLessThan(budget.tokens + Math.max(1, longest))
  expect(result.dollars).toBeLessThanOrEqual((budget.dollars ?? Infinity) + costliest)
  expect(events.at(-1)).toMatchObject({ type: 'result', reason: result.reason })
}

export const call = (tool: string, input: unknown): { calls: SaidCall[] } => ({ calls: [{ tool, input }] })
export const bash = (command: string, more: object = {}): { calls: SaidCall[] } => call('bash', { command, ...more })
export const SUBMIT = call('submit', { summary: 'done' })

/** Does one thing, then claims to be done. */
export const once =
  (first: { calls: SaidCall[] }): ModelProgram =>
  ({ observations }) =>
    observations.length === 0 ? first : SUBMIT

export function observations(events: readonly AgentEvent[]): string[] {
  return events.flatMap((event) => (event.type === 'tool_ended' ? [event.observation] : []))
}

export function changedFiles({ diff }: AgentResult): readonly { path: string; test: boolean }[] {
  if (!diff.available) throw new Error(diff.reason)
  return diff.files
}
