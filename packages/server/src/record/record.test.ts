import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RecordEntry, SandboxId } from '@hearth/contract'
import { TestHome, type TestServer } from '../lifecycle/test-server.ts'
import type { StoredEvent } from '../state/index.ts'
import { Records } from './records.ts'

let home: TestHome
let server: TestServer
beforeAll(async () => {
  home = await TestHome.make()
  server = await home.start({ housekeeping: { activityMs: 200 } })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await home[Symbol.asyncDispose]()
})

async function timeline(id: string, from = server): Promise<readonly StoredEvent[]> {
  return (await from.store.events.page({ sandboxId: id, limit: 1000 })).events
}

/** Waits until the timeline has an entry like this. */
async function until(id: string, type: string, data: Record<string, unknown> = {}, from = server): Promise<void> {
  await expect
    .poll(() => timeline(id, from), { timeout: 20_000 })
    .toEqual(
      expect.arrayContaining([expect.objectContaining({ type, data: expect.objectContaining(data) as unknown })]),
    )
}

describe('what happens in a sandbox', () => {
  it('is in its timeline: commands with their ends and steps, code, and what became of it', async () => {
    const { id } = await server.create()
    {
      using use = await server.plane.use(await server.caller(), id)
      await use.sandbox.exec(['sh', '-c', 'cat; exit 3'], { input: 'x', cwd: '/tmp', step: 'first' })
      const { stdout } = await use.sandbox.runCode('print(6 * 7)', { step: 'second' })
      expect(stdout.trim()).toBe('42')
    }
    await server.plane.delete(await server.caller(), id)
    const events = await timeline(id)
    expect(events.map(({ type }) => type)).toEqual([
      'sandbox.created',
      'sandbox.running',
      'command.started',
      'command.exited',
      'code.run',
      'sandbox.deleted',
    ])
    const [, , started, exited, code] = events
    const process = started?.data['process']
    expect(started?.data).toEqual({
      process: expect.any(Number),
      command: ['sh', '-c', 'cat; exit 3'],
      cwd: '/tmp',
      user: null,
      step: 'first',
    })
    expect(exited?.data).toMatchObject({
      process,
      exitCode: 3,
      signal: null,
      step: 'first',
      timedOut: false,
      oom: false,
    })
    expect(code?.data).toMatchObject({ language: 'python', code: 'print(6 * 7)', step: 'second', error: null })
    expect(await server.store.events.verify((await server.caller()).tenantId, id)).toMatchObject({ valid: true })
  })

  it('tells what changes in files, where that was asked for', async () => {
    const { id } = await server.create({ record: { files: ['/tmp'] } })
    const path = `/tmp/recorded-${id}`
    await server.run(id, `echo a >${path}; mv ${path} ${path}.moved; rm ${path}.moved`)
    await until(id, 'file.changed', { path, change: 'added' })
    await until(id, 'file.changed', { path: `${path}.moved`, change: 'removed' })
    const { id: gone } = await server.create({ record: { files: ['/nowhere'] } })
    await until(gone, 'record.dropped', { reason: 'watch', kinds: { file: 1 } })
  })

  it('tells the end of a command that nobody waits for', async () => {
    const { id } = await server.create()
    using use = await server.plane.use(await server.caller(), id)
    const process = await use.sandbox.spawn('sleep 0.3; exit 7', { step: 'behind' })
    await process.detach()
    await until(id, 'command.exited', { process: process.id, exitCode: 7, step: 'behind' })
    expect((await timeline(id)).filter(({ type }) => type === 'command.exited')).toHaveLength(1)
  })

  it('goes on after a restart: ends that came meanwhile, and commands whose start was not written', async () => {
    await using other = await TestHome.make()
    const first = await other.start()
    const caller = await first.caller()
    const binding = { name: 'api.test', placement: { in: 'basic' } } as const
    await first.store.secrets.put(caller.tenantId, { name: 'GONE', value: 'a real value', binding })
    const { id } = await first.create({ policy: { allow: ['api.test'] }, secrets: [{ secret: 'GONE' }] })
    {
      using use = await first.plane.use(caller, id)
      await (await use.sandbox.spawn('sleep 0.2; exit 5', { step: 'before' })).detach()
    }
    // Who is taken up again without a secret goes on nevertheless.
    await first.store.secrets.remove(caller.tenantId, 'GONE')
    await first[Symbol.asyncDispose]()
    await sleep(400)
    await using second = await other.start({ housekeeping: { activityMs: 200 } })
    await until(id, 'command.exited', { exitCode: 5, step: 'before' }, second)
    expect(await second.store.events.verify(caller.tenantId, id)).toMatchObject({ valid: true })
    expect(await second.run(id, 'echo $GONE')).toMatch(/^\S{10,}\n$/)
  })
})

describe('the recorder', () => {
  const refusal = (message: string): RecordEntry => ({
    kind: 'refusal',
    process: null,
    name: 'a.test',
    port: 443,
    refusal: 'name_not_allowed',
    message,
  })
  const command = (text: string): RecordEntry => ({
    kind: 'command',
    process: 1,
    command: text,
    cwd: null,
    user: null,
    step: null,
  })
  const newId = async (): Promise<SandboxId> => (await server.create({ rung: 'simulated' })).id as SandboxId

  it('holds a guest to its rate, cuts what is long, and says what it dropped', async () => {
    const records = new Records(server.store, { perSecond: 0.001, burst: 5 })
    const id = await newId()
    for (let index = 0; index < 50; index++)
      records.of(id).add(refusal(index === 0 ? 'x'.repeat(1e6) : `short ${index}`))
    records
      .of(id)
      .add({ ...command(''), command: Array.from({ length: 1000 }, () => 'word '.repeat(200)) } as RecordEntry)
    await records.close()
    const events = await timeline(id)
    expect(events.filter(({ type }) => type === 'network.refused')).toHaveLength(5)
    expect(Math.max(...events.map(({ data }) => JSON.stringify(data).length))).toBeLessThan(10_000)
    expect(events.find(({ type }) => type === 'record.dropped')?.data).toEqual({
      count: 45,
      reason: 'rate',
      kinds: { refusal: 45 },
    })
  })

  it('holds processes to a rate of their own, which pushes nothing else out', async () => {
    const records = new Records(server.store, { perSecond: 0.001, burst: 5 })
    const id = await newId()
    const started = { kind: 'process', process: 1, pid: 7, parent: 6, argv: ['true'], seen: 'whole' } as const
    const ended = { kind: 'process-exit', process: 1, pid: 7, exitCode: 0, signal: null, durationMs: 1 } as const
    for (let index = 0; index < 10; index++) {
      records.of(id).add(started)
      records.of(id).add(ended)
    }
    records.of(id).add(refusal('after a flood'))
    await records.close()
    const events = await timeline(id)
    const types = events.map(({ type }) => type)
    expect(types.filter((type) => type.startsWith('process.'))).toHaveLength(5)
    expect(types).toContain('network.refused')
    expect(events.find(({ type }) => type === 'record.dropped')?.data).toEqual({
      count: 15,
      reason: 'rate',
      kinds: { process: 7, 'process-exit': 8 },
    })
  })

  it('holds no more than its memory, also while the database does not answer, and then writes what it has', async () => {
    const problems: unknown[] = []
    const id = await newId()
    let refuse = true
    const events = new Proxy(server.store.events, {
      get: (target, name) => {
        if (name === 'append' && refuse) return () => Promise.reject(new Error('no database'))
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    const store = { ...server.store, events, sandboxes: server.store.sandboxes } as typeof server.store
    const records = new Records(store, { memoryBytes: 20_000, onProblem: (_, error) => problems.push(error) })
    for (let index = 0; index < 100; index++) records.of(id).add(command('x'.repeat(1000)))
    await records.flush()
    expect(problems).toHaveLength(1)
    refuse = false
    await records.flush()
    const written = await timeline(id)
    const kept = written.filter(({ type }) => type === 'command.started').length
    expect(kept).toBeGreaterThan(5)
    expect(kept).toBeLessThan(20)
    expect(written.at(-1)).toMatchObject({ type: 'record.dropped', data: { count: 100 - kept, reason: 'memory' } })
  })

  it('keeps no more entries of a sandbox than it may, between two rounds of retention', async () => {
    const records = new Records(server.store, { keep: 40 })
    const id = await newId()
    for (let index = 0; index < 200; index++) {
      records.of(id).add(command(`echo ${index}`))
      if (index % 20 === 0) await records.flush()
    }
    await records.close()
    const { tenantId } = await server.caller()
    const verdict = await server.store.events.verify(tenantId, id)
    expect(verdict).toMatchObject({ valid: true, head: { length: 202 } })
    expect(verdict.entries).toBeLessThanOrEqual(50)
    expect((verdict.dropped?.count ?? 0) + verdict.entries).toBe(202)
  })
})
