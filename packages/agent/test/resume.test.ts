import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { BOUNDS, type Sandbox } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { afterAll, describe, expect, it } from 'vitest'
import {
  FileEventLog,
  MemoryEventLog,
  resumeAgent,
  ScriptedModel,
  startAgent,
  type AgentEvent,
  type AgentResult,
  type EventLog,
  type Script,
} from '../src/index.ts'
import { CarefulModel, EFFECTS } from './support/careful-model.ts'

const hearth = new Hearth()
const directory = mkdtempSync(join(tmpdir(), 'hearth-agent-test-'))
afterAll(async () => {
  rmSync(directory, { recursive: true })
  await hearth.dispose()
})

const WORDS = ['one', 'two', 'three', 'four']
const model = new CarefulModel([['one'], ['two', 'three'], ['four']])

/** Dies at one event: just before it is written down, or just after. */
function mortal(log: EventLog, at: number, when: 'before' | 'after'): EventLog {
  return {
    read: async () => await log.read(),
    append: async (event) => {
      if (event.seq === at && when === 'before') throw new Error('dead')
      await log.append(event)
      if (event.seq === at) throw new Error('dead')
    },
  }
}

async function marks(sandbox: Sandbox): Promise<string[]> {
  return (await sandbox.files.readText(EFFECTS)).trim().split('\n').toSorted()
}

function interruptions(events: readonly AgentEvent[]): number {
  return events.filter((event) => event.type === 'tool_ended' && event.outcome === 'interrupted').length
}

describe('an agent that dies', () => {
  it('at any event goes on, and neither loses nor repeats anything', async () => {
    let deaths = 0
    for (const when of ['before', 'after'] as const) {
      for (let at = 1; ; at++) {
        const { died, events, found } = await liveTwice(at, when)
        expect([when, at, ...found]).toEqual([when, at, ...WORDS.toSorted()])
        expect(interruptions(events)).toBeLessThanOrEqual(1)
        expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index))
        if (!died) break
        deaths++
      }
    }
    expect(deaths).toBeGreaterThan(30)
  })

  it('again and again, by kill -9, goes on each time in another process', async () => {
    const made = await hearth.create({ rung: 'process' })
    await made.release()
    const place = join(directory, 'victims')
    mkdirSync(place)
    let killed = 0
    for (;;) {
      const { signal, output } = await victim(made.id, place, 2 + killed)
      if (signal === null) {
        expect(output).toBe('submitted\n')
        break
      }
      expect(signal).toBe('SIGKILL')
      expect(++killed).toBeLessThan(30)
    }
    expect(killed).toBeGreaterThan(3)
    await using sandbox = await hearth.adopt(made.id)
    expect(await marks(sandbox)).toEqual(WORDS.toSorted())
  })

  it.each([['command', 0] as const, ['long command', 3000] as const])(
    'in the middle of a %s ends it, and says so',
    async (name, more) => {
      const made = await hearth.create({ rung: 'process' })
      await made.release()
      const place = join(directory, name)
      mkdirSync(place)
      const command = `echo begun >> ${EFFECTS}; sleep 60; echo ended >> ${EFFECTS} # ${'x'.repeat(more)}`
      const script = [
        { calls: [{ tool: 'bash', input: { command } }] },
        { calls: [{ tool: 'submit', input: { summary: '' } }] },
      ]
      const child = startVictim(made.id, place, 1000, JSON.stringify(script))
      while (!readLog(place).includes('tool_started')) await sleep(20)
      await sleep(300)
      child.kill('SIGKILL')
      await once(child, 'exit')
      await using sandbox = await hearth.adopt(made.id)
      await using log = await FileEventLog.open(join(place, 'log'))
      const run = await resumeAgent({
        sandbox,
        log,
        model: new ScriptedModel(script),
        stateDirectory: join(place, 'state'),
      })
      expect(await run.result).toMatchObject({ reason: 'submitted' })
      expect(await marks(sandbox)).toEqual(['begun'])
      expect((await sandbox.processes()).filter(({ exit }) => exit === null)).toEqual([])
      expect(interruptions(await log.read())).toBe(1)
    },
  )
})

it('a run that is taken up counts money by the price that was given at its beginning', async () => {
  await using sandbox = await hearth.create({ rung: 'simulated' })
  const usage = { inputTokens: 1000, outputTokens: 0 }
  const script = [
    { calls: [{ tool: 'bash', input: { command: 'echo x > x' } }], usage },
    { calls: [{ tool: 'submit', input: { summary: '' } }], usage },
  ]
  const log = new MemoryEventLog()
  const stateDirectory = join(directory, 'priced')
  const given = { sandbox, stateDirectory, model: new ScriptedModel(script, 'dear:one') }
  const prices = { 'dear:one': { input: 1000, output: 0 } }
  const begin = {
    ...given,
    prices,
    task: 'Spend.',
    workdir: '/tmp',
    budget: { dollars: 9 },
    log: mortal(log, 4, 'after'),
  }
  const first = await startAgent(begin)
  await expect(first.result).rejects.toThrow('dead')
  const other = { ...given, model: new ScriptedModel(script, 'other:one') }
  await expect(resumeAgent({ ...other, log })).rejects.toThrow(/no price for other:one/)
  const run = await resumeAgent({ ...given, log })
  expect(await run.result).toMatchObject({ reason: 'submitted', dollars: 2 })
})

it('a run that is taken up keeps its rules, and is not gone on with without its hooks', async () => {
  await using sandbox = await hearth.create({ rung: 'simulated' })
  const command = (text: string) => ({ calls: [{ tool: 'bash', input: { command: text } }] })
  const submit = { calls: [{ tool: 'submit', input: { summary: '' } }] }
  const model = new ScriptedModel([command('echo x > allowed'), command('rm -r /'), submit])
  const log = new MemoryEventLog()
  const given = { sandbox, model, stateDirectory: join(directory, 'ruled') }
  const permissions = [{ tool: 'bash', pattern: 'rm *', action: 'deny' as const }]
  const hooks = { beforeTool: () => undefined }
  const begin = { ...given, permissions, hooks, task: 'Leave.', workdir: '/tmp', log: mortal(log, 4, 'after') }
  await expect((await startAgent(begin)).result).rejects.toThrow('dead')
  await expect(resumeAgent({ ...given, log })).rejects.toThrow(/hooks look at the calls/)
  const many = Array.from({ length: BOUNDS.runPermissions + 1 }, () => ({ tool: 'bash', action: 'deny' as const }))
  await expect(startAgent({ ...begin, permissions: many, log: new MemoryEventLog() })).rejects.toThrow('permissions')
  expect(await (await resumeAgent({ ...given, hooks, log })).result).toMatchObject({ reason: 'submitted' })
  const denied = (await log.read()).filter((event) => event.type === 'tool_ended' && event.outcome === 'denied')
  expect(denied).toMatchObject([{ observation: expect.stringContaining('a rule forbids it') }])
})

describe('an agent that is killed by kill -9 in the middle of', () => {
  const submit = { calls: [{ tool: 'submit', input: { summary: '' } }] }

  it('the check of a submission ends it, and does not count it as refused', async () => {
    // It takes long the first time alone.
    const verify = `test -e /tmp/checked || { touch /tmp/checked; sleep 60; }`
    const script = [{ calls: [{ tool: 'bash', input: { command: 'echo x > x' } }] }, submit, submit]
    const { events, observations } = await killedIn('check', script, 'submit', verify)
    expect(events.filter(({ type }) => type === 'submitted')).toMatchObject([{ accepted: true, verified: true }])
    expect(observations[1]).toMatch(/^interrupted: /)
  })

  it('a cell of an interpreter ends that, and says that its variables are gone', async () => {
    const code = `open('${EFFECTS}', 'a').write('begun\\n'); import time; time.sleep(60)`
    const cell = { calls: [{ tool: 'run_code', input: { code } }] }
    const { events, observations } = await killedIn('cell', [cell, submit], 'run_code', '')
    expect(observations[0]).toMatch(/^interrupted: .*variables are gone/s)
    expect(interruptions(events)).toBe(1)
  })

  /** Lives until a tool has begun, dies, and is taken up here; nothing runs any more in the end. */
  async function killedIn(name: string, script: Script, tool: string, verify: string) {
    const made = await hearth.create({ rung: 'process' })
    await made.release()
    const place = join(directory, name)
    mkdirSync(place)
    const child = startVictim(made.id, place, 1000, JSON.stringify(script), verify)
    const begun = (): boolean =>
      readLog(place)
        .split('\n')
        .some((line) => line.includes('"tool_started"') && line.includes(`"name":"${tool}"`))
    while (!begun()) await sleep(20)
    await sleep(1500)
    child.kill('SIGKILL')
    await once(child, 'exit')
    await using sandbox = await hearth.adopt(made.id)
    expect((await sandbox.processes()).some(({ exit }) => exit === null)).toBe(true)
    await using log = await FileEventLog.open(join(place, 'log'))
    const model = new ScriptedModel(script)
    const run = await resumeAgent({ sandbox, log, model, stateDirectory: join(place, 'state') })
    expect(await run.result).toMatchObject({ reason: 'submitted' })
    expect((await sandbox.processes()).filter(({ exit }) => exit === null)).toEqual([])
    const events = await log.read()
    return { events, observations: events.flatMap((event) => (event.type === 'tool_ended' ? [event.observation] : [])) }
  }
})

async function liveTwice(
  at: number,
  when: 'before' | 'after',
): Promise<{ died: boolean; events: readonly AgentEvent[]; found: string[]; result: AgentResult }> {
  await using sandbox = await hearth.create({ rung: 'simulated' })
  await sandbox.files.write('/tmp/work/file', 'file\n')
  const log = new MemoryEventLog()
  const stateDirectory = join(directory, `${when}-${at}`)
  const options = { sandbox, model, stateDirectory }
  const first = await startAgent({ ...options, log: mortal(log, at, when), task: 'Leave marks.', workdir: '/tmp' })
  let died = false
  const whole = await first.result.catch((error: Error) => {
    expect(error.message).toMatch(/cannot be written down: Error: dead/)
    died = true
    return null
  })
  const result = whole ?? (await (await resumeAgent({ ...options, log })).result)
  expect(result.reason).toBe('submitted')
  return { died, events: await log.read(), found: await marks(sandbox), result }
}

function startVictim(
  id: string,
  place: string,
  events: number,
  script = '',
  verify = '',
): ChildProcessByStdio<null, Readable, null> {
  const program = join(import.meta.dirname, 'support', 'agent-victim.ts')
  return spawn(process.execPath, [program, id, place, String(events), script, verify], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

async function victim(id: string, place: string, events: number): Promise<{ signal: string | null; output: string }> {
  const child = startVictim(id, place, events)
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [, signal] = (await once(child, 'close')) as [number | null, string | null]
  return { signal, output }
}

function readLog(place: string): string {
  const file = join(place, 'log')
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}
