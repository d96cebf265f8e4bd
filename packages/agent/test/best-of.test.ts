import { randomUUID } from 'node:crypto'
import { Hearth } from '@hearth/engine'
import type { Sandbox } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  bestOf,
  checks,
  MemoryEventLog,
  modelPreference,
  ScriptedModel,
  SharedBudget,
  startAgent,
  variations,
  type Message,
  type Model,
  type ModelReply,
} from '../src/index.ts'
import { NO_USAGE } from '../src/models/model.ts'
import { BUG, FIX, makeRepository, VERIFY, WORKDIR } from './support/repository.ts'

const hearth = new Hearth()
/** Copies have the metadata of their machine, and so can be told from those of others on this computer. */
const SUITE = randomUUID()
let base: Sandbox
beforeAll(async () => {
  base = await hearth.create({ rung: 'process', metadata: { suite: SUITE } })
  await makeRepository(base)
})
afterAll(async () => {
  const left = (await hearth.list()).filter(({ id, metadata }) => id !== base.id && metadata['suite'] === SUITE)
  await base.kill()
  await hearth.dispose()
  if (left.length > 0) throw new Error(`${left.length} machines are left`)
})

const edit = (new_string: string, old_string = BUG) => ({
  tool: 'edit',
  input: { path: 'ranges/parse.py', old_string, new_string },
})
const SUBMIT = { tool: 'submit', input: { summary: 'done' } }
const fixing = (new_string: string): Model =>
  new ScriptedModel([{ calls: [edit(new_string)], usage: { inputTokens: 100, outputTokens: 10 } }, { calls: [SUBMIT] }])
const judge = checks({ tests: VERIFY })
const common = { workdir: WORKDIR, task: 'The end of a range is missing.', judge }

describe('best of several attempts', () => {
  it('begins with two, and tries others while none is right', async () => {
    const models = [fixing('int(last) + 1))'), fixing('int(first) + 1))'), fixing(FIX), fixing('0))')]
    const shared = new SharedBudget({ steps: 50, tokens: 10_000, dollars: null, wallTimeMs: 60_000 })
    const told: number[] = []
    const report = await bestOf({
      ...common,
      base,
      shared,
      attempts: variations(6, { models }),
      onEvent: (attempt) => told.push(attempt),
    })
    expect(report.candidates.map(({ outcome }) => outcome)).toEqual([
      'failed',
      'failed',
      'passed',
      'failed',
      'not_tried',
      'not_tried',
    ])
    expect(report.winner?.name).toBe('attempt 3')
    expect(report.runs[2]).toMatchObject({ reason: 'submitted', steps: 2 })
    expect(report.runs[4]).toBeNull()
    expect(report.spent).toMatchObject({ steps: 8, tokens: 440 })
    expect(new Set(told)).toEqual(new Set([0, 1, 2, 3]))
  })

  it('ends those that still run when there is enough', async () => {
    const slow = new ScriptedModel([{ calls: [{ tool: 'bash', input: { command: 'sleep 60' } }] }])
    const attempts = variations(3, { models: [fixing(FIX), slow, slow] })
    const report = await bestOf({ ...common, base, attempts, wave: 3, enough: 1 })
    expect(report.candidates.map(({ outcome }) => outcome)).toEqual(['passed', 'ended', 'ended'])
    expect(report.candidates[1]?.detail).toBe('the winner is settled')
    expect(report.wallTimeMs).toBeLessThan(30_000)
  })

  it('stops when the budget of all is used up, and still judges what is there', async () => {
    const shared = new SharedBudget({ steps: 3, tokens: 10_000, dollars: null, wallTimeMs: 60_000 })
    const attempts = variations(4, { models: [fixing('0))'), fixing('1))')] })
    const report = await bestOf({ ...common, base, shared, attempts })
    expect(report.winner).toBeNull()
    expect(report.candidates.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'not_tried', 'not_tried'])
    expect(report.runs.map((run) => run?.reason ?? null)).toContain('steps')
    expect(shared.spent.steps).toBe(3)
  })

  it('goes on with the conversation that the machine comes with', async () => {
    const { children } = await base.fork(1)
    await using warm = children[0] as Sandbox
    const log = new MemoryEventLog()
    const stateDirectory = `/tmp/hearth-best-of-${process.pid}`
    const look = new ScriptedModel([{ calls: [{ tool: 'read', input: { path: 'ranges/parse.py' } }] }])
    const run = await startAgent({ ...common, sandbox: warm, log, stateDirectory, model: look, budget: { steps: 1 } })
    await run.result
    const seen: Message[][] = []
    const next: Model = {
      name: 'scripted:next',
      contextTokens: 100_000,
      call: ({ messages }) => {
        seen.push([...messages])
        const call = seen.length % 2 === 1 ? edit(FIX) : SUBMIT
        return Promise.resolve(replyOf(call.tool, call.input))
      },
    }
    const budgeted = { log: await withoutBudget(log), stateDirectory }
    const report = await bestOf({ ...common, base: warm, from: budgeted, attempts: [{ model: next }] })
    expect(report.winner).toMatchObject({ changedLines: 2 })
    expect(JSON.stringify(seen[0])).toContain('both ends included')
  })
})

/** The same run with room for more steps. */
async function withoutBudget(log: MemoryEventLog): Promise<MemoryEventLog> {
  const copy = new MemoryEventLog()
  for (const event of await log.read()) {
    await copy.append(event.type === 'started' ? { ...event, budget: { ...event.budget, steps: 10 } } : event)
  }
  return copy
}

function replyOf(name: string, input: unknown): ModelReply {
  const id = `call-${Math.random()}`
  return { text: '', calls: [{ id, name, input }], finish: 'tool-calls', usage: NO_USAGE }
}

describe('a tree of attempts', () => {
  it('goes on from the step that failed, with what the others came to', async () => {
    const told: string[] = []
    /** Runs the tests, changes something wrong, submits; told of failures it does it right. */
    const learning: Model = {
      name: 'scripted:learning',
      contextTokens: 100_000,
      call: ({ messages }) => {
        const users = messages.flatMap((message) => (message.role === 'user' ? [message.text] : []))
        const failures = users.find((text) => text.includes('Other attempts'))
        const calls = messages.filter(({ role }) => role === 'assistant').length
        if (failures !== undefined) told.push(failures)
        if (calls === 0) return Promise.resolve(replyOf('bash', { command: VERIFY }))
        if (calls === 1) return Promise.resolve(replyOf('edit', edit(failures === undefined ? '0))' : FIX).input))
        return Promise.resolve(replyOf('submit', { summary: 'done' }))
      },
    }
    const report = await bestOf({ ...common, base, attempts: variations(2, { models: [learning] }), tree: {} })
    expect(report.candidates.map(({ name, outcome }) => [name, outcome])).toEqual([
      ['attempt 1', 'failed'],
      ['attempt 2', 'duplicate'],
      ['attempt 1, branch 1', 'passed'],
      ['attempt 1, branch 2', 'duplicate'],
    ])
    expect(report.winner).toMatchObject({ index: 2, agreement: 2 })
    expect(told[0]).toMatch(/attempt 1: failed\nstill fails: tests\n[^]*\+ {8}pages.extend/)
    // It went on from the failing run of the tests, not from the beginning.
    expect(report.runs[2]).toMatchObject({ steps: 3 })
  })
})

describe('a model that compares', () => {
  it('is asked among those that pass alone, and paid from the budget', async () => {
    const shared = new SharedBudget({ steps: 50, tokens: 100_000, dollars: null, wallTimeMs: 60_000 })
    const answers = ['Because.\nSECOND', 'Because.\nFIRST']
    const usage = { inputTokens: 7, outputTokens: 3 }
    const model = new ScriptedModel(answers.map((text) => ({ text, usage })))
    const prefer = modelPreference({ model, task: common.task, budget: shared })
    const long = fixing('int(last or first) + 1)) # and a line\n')
    const attempts = variations(3, { models: [fixing(FIX), long, fixing('0))')] })
    const report = await bestOf({ ...common, base, shared, attempts, wave: 3, prefer })
    expect(report.preferences).toEqual([{ first: 0, second: 1, preferred: 1, detail: '' }])
    expect(report.winner?.name).toBe('attempt 2')
    expect(report.spent?.tokens).toBe(3 * 110 + 20)
  })
})
