import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { Hearth } from '@hearth/engine'
import { afterAll, describe, expect, it } from 'vitest'
import { FileEventLog, type AgentEvent } from '../src/index.ts'

const hearth = new Hearth({ spareKeepers: 0 })
const directory = mkdtempSync(join(tmpdir(), 'hearth-delegate-test-'))
afterAll(async () => {
  rmSync(directory, { recursive: true })
  await hearth.dispose()
})

const LEASE_MS = 4000
const PROGRAM = join(import.meta.dirname, 'support', 'delegation-victim.ts')

type Victim = ChildProcessByStdio<null, Readable, null>

function start(id: string, place: string, events: number, command: readonly string[] = []): Victim {
  const words = [PROGRAM, id, place, String(events), String(LEASE_MS), ...command]
  return spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
}

async function lived(child: Victim): Promise<{ signal: string | null; output: string }> {
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [, signal] = (await once(child, 'close')) as [number | null, string | null]
  return { signal, output }
}

const machines = async (run: string): Promise<unknown[]> =>
  (await hearth.list()).filter(({ metadata }) => metadata['run'] === run)

async function noneLeft(run: string): Promise<void> {
  const until = Date.now() + LEASE_MS + 30_000
  while ((await machines(run)).length > 0 && Date.now() < until) {
    await hearth.sweep({ graceMs: 0 })
    await sleep(100)
  }
  expect(await machines(run)).toEqual([])
}

async function eventsOf(place: string): Promise<readonly AgentEvent[]> {
  await using log = await FileEventLog.open(join(place, 'log'))
  return await log.read()
}

const runOf = (events: readonly AgentEvent[]): string => (events[0]?.type === 'started' ? events[0].run : '')

describe('an agent with sub-agents that dies', () => {
  it('again and again, by kill -9, goes on, and no change is lost or made twice, and no machine is left', async () => {
    const made = await hearth.create({ rung: 'process' })
    await made.files.makeDirectory('/workspace')
    await made.release()
    const place = join(directory, 'victims')
    mkdirSync(place)
    let killed = 0
    let ended = ''
    for (let events = 7; ended === ''; events += 6) {
      const { signal, output } = await lived(start(made.id, place, events))
      if (signal === null) ended = output
      else expect(++killed).toBeLessThan(30)
    }
    expect(killed).toBeGreaterThan(3)
    await using sandbox = await hearth.adopt(made.id)
    expect(await sandbox.files.readText('/workspace/notes/one')).toBe('one\n')
    expect(await sandbox.files.readText('/workspace/notes/two')).toBe('two\n')
    const events = await eventsOf(place)
    // What those that died have used is counted.
    const asked = events.filter((event) => (event.type === 'sub_agent' ? event.event : event).type === 'model_called')
    expect(ended).toBe(`submitted ${asked.length}\n`)
    const interrupted = events.filter((event) => event.type === 'tool_ended' && event.outcome === 'interrupted')
    expect(interrupted.length).toBeGreaterThan(2)
    await noneLeft(runOf(events))
  })

  it('while they work tells what is known of them, and their machines end with the lease', async () => {
    const made = await hearth.create({ rung: 'process' })
    await made.files.makeDirectory('/workspace')
    await made.release()
    const place = join(directory, 'working')
    mkdirSync(place)
    const child = start(made.id, place, 10_000, ['sleep 600'])
    const log = (): string => (existsSync(join(place, 'log')) ? readFileSync(join(place, 'log'), 'utf8') : '')
    while ((log().match(/"type":"tool_started","id":"[^"]*","name":"bash"/g) ?? []).length < 2) await sleep(50)
    child.kill('SIGKILL')
    await once(child, 'exit')
    const run = runOf(await eventsOf(place))
    expect(await machines(run)).toHaveLength(2)
    await noneLeft(run)
    // Goes on until the call of the dead one is answered.
    await lived(start(made.id, place, 2))
    const answer = (await eventsOf(place)).find((event) => event.type === 'tool_ended')
    expect(answer).toMatchObject({ name: 'delegate', outcome: 'interrupted' })
    expect(answer?.type === 'tool_ended' && answer.observation).toMatch(
      /^interrupted: [^]*\nsub-agent 1 \(run_\w+\): it was ended with its machine, and nothing of its change was taken over\.\n\nsub-agent 2/,
    )
    await using _sandbox = await hearth.adopt(made.id)
  })
})
