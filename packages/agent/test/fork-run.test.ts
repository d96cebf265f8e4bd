import type { Sandbox } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  forkRun,
  MemoryEventLog,
  resumeAgent,
  SharedBudget,
  startAgent,
  type AgentEvent,
  type AgentRun,
  type ForkedRun,
  type Message,
  type Model,
} from '../src/index.ts'
import { NO_USAGE } from '../src/models/model.ts'

const hearth = new Hearth()
afterAll(async () => await hearth.dispose())

let sandbox: Sandbox
beforeEach(async () => {
  sandbox = await hearth.create({ rung: 'process' })
  await sandbox.files.write('/workspace/notes', 'begun\n')
})
afterEach(async () => {
  await sandbox.kill()
  const left = await children()
  if (left.length > 0) throw new Error(`${left.length} machines are left`)
})

const children = async (): Promise<unknown[]> => (await hearth.list()).filter(({ parent }) => parent === sandbox.id)

const texts = (messages: readonly Message[]): string[] =>
  messages.flatMap((message) => (message.role === 'user' ? [message.text] : []))

/** Writes one line for each word into the notes, then submits. What it is told by others is written too. */
function writer(words: readonly string[]): Model {
  return {
    name: 'scripted:writer',
    contextTokens: 100_000,
    call: ({ messages, turn }) => {
      const said = texts(messages).slice(1)
      const lines = [...words.slice(0, 2), ...said, ...words.slice(2)]
      const done = messages.filter(({ role }) => role === 'assistant').length
      const line = lines[done]
      const call =
        line === undefined
          ? { name: 'submit', input: { summary: 'written' } }
          : { name: 'bash', input: { command: `echo '${line}' >> notes` } }
      return Promise.resolve({
        text: '',
        calls: [{ id: `call-${turn}`, ...call }],
        finish: 'tool-calls',
        usage: { ...NO_USAGE, inputTokens: 10, outputTokens: 5 },
      })
    },
  }
}

const notes = async (machine: Sandbox): Promise<string[]> =>
  (await machine.files.readText('/workspace/notes')).trim().split('\n')

/** Forks the run as soon as its second command has ended. */
async function forkedRun(count: number, log = new MemoryEventLog()): Promise<{ run: AgentRun; children: ForkedRun[] }> {
  const { promise, resolve, reject } = Promise.withResolvers<ForkedRun[]>()
  let ended = 0
  const run = await startAgent({
    sandbox,
    log,
    model: writer(['one', 'two', 'three']),
    task: 'Write.',
    onEvent: ({ type }) => {
      if (type !== 'tool_ended' || ++ended !== 2) return
      run.fork({ count, message: (child) => `child ${child}` }).then(resolve, reject)
    },
  })
  return { run, children: await promise }
}

describe('a fork of a run', () => {
  it('has machine and conversation of one instant, and goes its own way', async () => {
    const { run, children: forks } = await forkedRun(2)
    const parent = await run.result
    expect(parent.reason).toBe('submitted')
    expect(await notes(sandbox)).toEqual(['begun', 'one', 'two', 'three'])
    expect(forks).toHaveLength(2)
    for (const [index, child] of forks.entries()) {
      await using _child = child
      expect(await notes(child.sandbox)).toEqual(['begun', 'one', 'two'])
      expect(child.parent.run).toBe(run.id)
      const events: AgentEvent[] = []
      const onEvent = (event: AgentEvent): void => void events.push(event)
      const model = writer(['one', 'two', 'end'])
      const resumed = await resumeAgent({ ...child, model, onEvent })
      expect(resumed.id).toBe(child.run)
      const result = await resumed.result
      expect(result).toMatchObject({ reason: 'submitted', steps: 5 })
      expect(await notes(child.sandbox)).toEqual(['begun', 'one', 'two', `child ${index}`, 'end'])
      // The difference is counted from where the parent began.
      expect(result.diff.available && Buffer.from(result.diff.patch).toString()).toContain('+one\n+two\n+child')
      const log = await child.log.read()
      expect(log[child.parent.seq + 1]).toMatchObject({ type: 'forked', run: child.run, parent: child.parent })
      expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index))
    }
  })

  it('is made of a run that has ended, up to any event', async () => {
    const log = new MemoryEventLog()
    const run = await startAgent({ sandbox, log, model: writer(['one', 'two', 'three']), task: 'Write.' })
    await run.result
    await expect(run.fork()).rejects.toThrow('the run has ended')
    const [whole] = await forkRun({ sandbox, log })
    expect((await whole?.log.read())?.at(-1)).toMatchObject({ type: 'forked', parent: { run: run.id } })
    await whole?.[Symbol.asyncDispose]()
    const first = (await log.read()).find(({ type }) => type === 'tool_ended')?.seq ?? 0
    const [early] = await forkRun({ sandbox, log, upTo: first })
    expect(await early?.log.read()).toHaveLength(first + 2)
    await early?.[Symbol.asyncDispose]()
    await expect(forkRun({ sandbox, log, upTo: 1000 })).rejects.toThrow('the run has no event 1000')
    await expect(forkRun({ sandbox, log: new MemoryEventLog() })).rejects.toThrow('the log holds no run')
  })

  it('leaves no machine when it cannot be written down', async () => {
    const log = new MemoryEventLog()
    await (
      await startAgent({ sandbox, log, model: writer(['one', 'two']), task: 'Write.' })
    ).result
    const full = { read: () => log.read(), append: () => Promise.reject(new Error('the disk is full')) }
    const logOf = (child: number): MemoryEventLog =>
      child === 1 ? (full as unknown as MemoryEventLog) : new MemoryEventLog()
    await expect(forkRun({ sandbox, log, count: 3, logOf })).rejects.toThrow('the disk is full')
    expect(await children()).toEqual([])
  })

  it('shares a budget with its parent', async () => {
    const { run, children: forks } = await forkedRun(1)
    await run.result
    const [child] = forks
    if (child === undefined) throw new Error('no child')
    await using _child = child
    const shared = new SharedBudget({ steps: 2, tokens: 1000, dollars: null, wallTimeMs: 60_000 })
    const resumed = await resumeAgent({ ...child, shared, model: writer(['one', 'two', 'three', 'four', 'five']) })
    expect(await resumed.result).toMatchObject({ reason: 'steps', steps: 4 })
    expect(shared.spent).toMatchObject({ steps: 2, tokens: 30 })
  })
})
