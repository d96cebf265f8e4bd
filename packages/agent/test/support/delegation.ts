import { randomUUID } from 'node:crypto'
import type { Sandbox, SandboxInfo } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { afterAll, expect } from 'vitest'
import { startAgent, type AgentEvent, type AgentOptions, type AgentResult, type AgentRun } from '../../src/index.ts'
import type { ModelProgram, Say, Turn, View } from './model-program.ts'
import { ModelServer } from './model-server.ts'
import { makeRepository, WORKDIR } from './repository.ts'
import { call } from './zoo.ts'

export const hearth = new Hearth({ spareKeepers: 0 })
afterAll(async () => await hearth.dispose())

export interface Delegated {
  readonly run: AgentRun
  readonly result: AgentResult
  readonly events: readonly AgentEvent[]
  readonly server: ModelServer
  readonly sandbox: Sandbox
}

interface Surroundings extends Partial<AgentOptions> {
  readonly rung?: SandboxInfo['rung']
  readonly look?: (delegated: Delegated) => Promise<void>
  readonly begun?: (run: AgentRun) => void
}

/** A program for the run and one for its sub-agents, which are told apart as people would: by what they were told. */
export function family(parent: ModelProgram, child: ModelProgram): ModelProgram {
  return (view) => (isSubAgent(view) ? child : parent)(view)
}

function isSubAgent({ system }: View): boolean {
  return system.includes('You are a sub-agent')
}

/** Gives work to sub-agents once, and submits. */
export const giving = (...subAgents: readonly object[]): ModelProgram => {
  return ({ observations }): Turn =>
    observations.length === 0 ? delegate(...subAgents) : call('submit', { summary: 'done' })
}

export const delegate = (...subAgents: readonly object[]): Say => call('delegate', { sub_agents: subAgents })

/** Does these one after the other, then submits. */
export const steps = (summary: string, ...says: readonly Say[]): ModelProgram => {
  return ({ observations }) => says[observations.length] ?? call('submit', { summary })
}

/** Lets a run work that may delegate; afterwards no machine is left but its own, which is looked at and ended. */
export async function delegating(program: ModelProgram, surroundings: Surroundings = {}): Promise<Delegated> {
  const { rung = 'process', look, begun, ...options } = surroundings
  const suite = randomUUID()
  await using server = await ModelServer.start(program)
  await using sandbox = await hearth.create({ rung, metadata: { suite } })
  await makeRepository(sandbox)
  const events: AgentEvent[] = []
  const run = await startAgent({
    sandbox,
    workdir: WORKDIR,
    task: 'Fix the bug.',
    model: await server.model('anthropic'),
    retries: { firstDelayMs: 5, longestDelayMs: 20 },
    delegate: { hearth },
    ...options,
    onEvent: (event) => {
      events.push(event)
      options.onEvent?.(event)
    },
  })
  begun?.(run)
  const delegated = { run, result: await run.result, events, server, sandbox }
  expect(server.problems).toEqual([])
  const left = (await hearth.list()).filter(({ id, metadata }) => id !== sandbox.id && belongs(metadata, suite, run.id))
  expect(left).toEqual([])
  await look?.(delegated)
  return delegated
}

function belongs(metadata: Readonly<Record<string, string>>, suite: string, run: string): boolean {
  return metadata['suite'] === suite || metadata['run'] === run
}

/** What the model was told of its sub-agents. */
export function reports(events: readonly AgentEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === 'tool_ended' && event.name === 'delegate' ? [event.observation] : [],
  )
}

export type Nested = Extract<AgentEvent, { type: 'sub_agent' }>

export function nested(events: readonly AgentEvent[]): Nested[] {
  return events.filter((event) => event.type === 'sub_agent')
}

export function broughtBack(events: readonly AgentEvent[]): string[] {
  return events.flatMap((event) => (event.type === 'brought_back' ? [event.outcome] : []))
}
