import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { resumeAgent, ScriptedModel, startAgent, workOn, type AgentResult, type Script } from '@hearth/agent'
import { newId } from '@hearth/contract'
import type { AgentEvent, Hearth, RemoteSandbox, RunId, RunLease } from '@hearth/sdk'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { CarefulModel, EFFECTS } from '../packages/agent/test/support/careful-model.ts'
import { ApiProcess } from './support/api-process.ts'

let server: ApiProcess
let hearth: Hearth
const directory = mkdtempSync(join(tmpdir(), 'hearth-agent-kept-'))
beforeAll(async () => {
  server = await ApiProcess.start()
  hearth = server.client()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})

const WORDS = ['one', 'two', 'three']
const BUDGET = { steps: 50, tokens: 1_000_000, dollars: null, wallTimeMs: 600_000 }
const bash = (command: string): Script[number] => ({ calls: [{ tool: 'bash', input: { command } }] })
const SUBMIT = { calls: [{ tool: 'submit', input: { summary: '' } }] }

async function newRun(leaseMs = 30_000): Promise<RunLease> {
  const id = newId('run') as RunId
  return (await hearth.runs.create({ id, task: 'x', model: 'm', budget: BUDGET, owner: `test:${id}`, leaseMs })).lease
}

async function marks(sandbox: RemoteSandbox): Promise<string[]> {
  return (await sandbox.files.readText(EFFECTS)).trim().split('\n').toSorted()
}

async function eventsOf(run: string): Promise<AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of hearth.runs.events(run)) events.push(event)
  return events
}

describe('an agent whose run a server keeps', () => {
  it('killed at its events, before or after they are written down, goes on in another process', async () => {
    await using sandbox = await hearth.create({ rung: 'process', template: 'host' })
    const { run } = await newRun()
    let killed = 0
    for (;;) {
      // Each life is a little longer, so that the last one gets through whatever takes several events.
      const when = killed % 2 === 0 ? 'after' : 'before'
      const { signal, output } = await victim([run, sandbox.id, join(directory, run), String(2 + killed), when])
      if (signal === null) {
        expect(output).toBe('submitted\n')
        break
      }
      expect(signal).toBe('SIGKILL')
      expect(++killed).toBeLessThan(30)
    }
    expect(killed).toBeGreaterThan(3)
    expect(await marks(sandbox)).toEqual(WORDS.toSorted())
    const events = await eventsOf(run)
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index))
    expect(await hearth.runs.get(run)).toMatchObject({ state: 'stopped', reason: 'submitted', complete: true })
  })

  it('goes on when its server is killed at each of its events', async () => {
    await using sandbox = await hearth.create({ rung: 'process', template: 'host' })
    const lease = await newRun()
    const model = new CarefulModel([['one', 'two']])
    let killed = 0
    const result = await workOn({ keeper: hearth.runs, lease }, async (options) => {
      const log = {
        read: async () => await options.log.read(),
        append: async (event: AgentEvent) => {
          const appended = options.log.append(event)
          if (killed++ % 2 === 0) await appended
          await server.kill('SIGKILL')
          await server.start()
          await appended
        },
      }
      return await startAgent({ ...options, log, sandbox, model, task: 'Leave marks.', workdir: '/tmp' })
    })
    expect(result).toMatchObject({ reason: 'submitted', diff: { available: true } })
    expect(killed).toBeGreaterThan(8)
    expect(await marks(sandbox)).toEqual(['one', 'two'])
    const events = await eventsOf(lease.run)
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index))
  })

  it('is steered, paused, resumed and stopped by others', async () => {
    await using sandbox = await hearth.create({ rung: 'simulated' })
    const lease = await newRun(1500)
    const script = [bash('echo 1'), bash('echo 2'), bash('echo 3'), bash('sleep 60; echo 4'), SUBMIT]
    await hearth.runs.tell(lease.run, 'steer', 'first')
    await hearth.runs.tell(lease.run, 'pause')
    const working = work(lease, sandbox, script)
    const follower = hearth.runs.follow(lease.run)
    const until = async (type: string): Promise<AgentEvent> => {
      for (;;) {
        const { value } = await follower.next()
        if (value?.type === type) return value
        if (value === undefined) throw new Error(`it has ended before ${type}`)
      }
    }
    // What it was told before anybody worked on it counts before its first step.
    expect(await until('paused')).toMatchObject({ message: 2 })
    const early = await eventsOf(lease.run)
    expect(early.map(({ type }) => type).toSorted()).toEqual(['paused', 'started', 'steered'])
    expect((await hearth.runs.get(lease.run)).state).toBe('paused')
    await hearth.runs.tell(lease.run, 'steer', 'second')
    await hearth.runs.tell(lease.run, 'resume')
    expect(await until('resumed')).toMatchObject({ message: 4 })
    while ((await eventsOf(lease.run)).filter(({ type }) => type === 'tool_started').length < 4)
      await until('tool_started')
    const { driver } = await hearth.runs.get(lease.run)
    expect(driver?.owner).toBe(`test:${lease.run}`)
    await hearth.runs.tell(lease.run, 'stop', 'enough')
    expect(await working).toMatchObject({ reason: 'stopped', detail: 'enough', diff: { available: true } })
    expect(await until('result')).toMatchObject({ reason: 'stopped' })
    expect(await hearth.runs.get(lease.run)).toMatchObject({ message: 5, messages: 5, driver: null, complete: true })
  })

  it('leaves a run that another has taken, and does nothing more in it', async () => {
    await using sandbox = await hearth.create({ rung: 'process', template: 'host' })
    const lease = await newRun()
    const stateDirectory = join(directory, lease.run)
    const script = [
      bash('echo begun >> /tmp/marks; sleep 30; echo ended >> /tmp/marks'),
      bash('echo more > file'),
      SUBMIT,
    ]
    const first = work(lease, sandbox, script, stateDirectory)
    const failed = first.then(
      () => null,
      (error: Error) => error.message,
    )
    await vi.waitFor(async () => expect(await sandbox.files.readText('/tmp/marks')).toBe('begun\n'), 30_000)
    const taken = await hearth.runs.take(lease.run, { owner: 'second', force: true })
    const result = await workOn(
      { keeper: hearth.runs, lease: taken },
      async (options) => await resumeAgent({ ...options, sandbox, model: new ScriptedModel(script), stateDirectory }),
    )
    expect(result.reason).toBe('submitted')
    expect(await failed).toMatch(/another goes on|worked on by (second|nobody)/)
    const ends = (await eventsOf(lease.run)).filter((event) => event.type === 'tool_ended')
    expect(ends.map(({ outcome }) => outcome)).toEqual(['interrupted', 'ok', 'ok'])
    expect(await sandbox.files.readText('/tmp/marks')).toBe('begun\n')
  })
})

async function work(
  lease: RunLease,
  sandbox: RemoteSandbox,
  script: Script,
  stateDirectory = join(directory, lease.run),
): Promise<AgentResult> {
  const given = { sandbox, model: new ScriptedModel(script), stateDirectory, task: 'Do it.', workdir: '/tmp/work' }
  return await workOn({ keeper: hearth.runs, lease }, async (options) => await startAgent({ ...options, ...given }))
}

async function victim(args: readonly string[]): Promise<{ signal: string | null; output: string }> {
  const program = join(import.meta.dirname, 'support', 'kept-victim.ts')
  const env = { ...process.env, HEARTH_URL: server.url, HEARTH_API_KEY: server.key }
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [, signal] = (await once(child, 'close')) as [number | null, string | null]
  return { signal, output }
}
