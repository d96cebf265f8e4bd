import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { TestHome, type TestServer } from '../lifecycle/test-server.ts'
import type { StoredEvent } from '../state/index.ts'

let home: TestHome
let server: TestServer
beforeAll(async () => {
  home = await TestHome.make()
  server = await home.start()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await home[Symbol.asyncDispose]()
})

const RECORDED = { rung: 'gvisor', record: { processes: true } } as const

/** Fills the limit of processes, and starts programs without end. */
const BOMB = `$SIG{CHLD} = 'IGNORE'; while (1) { my $pid = fork(); if (defined $pid && !$pid && rand() < 0.5) { exec '/bin/true' } }`

async function timeline(id: string, from = server): Promise<readonly StoredEvent[]> {
  const all: StoredEvent[] = []
  for (let after = 0; ;) {
    const { events, next } = await from.store.events.page({ sandboxId: id, limit: 1000, after })
    if (events.length === 0) return all
    all.push(...events)
    after = next
  }
}

async function until(id: string, type: string, data: Record<string, unknown>, from = server): Promise<void> {
  await expect
    .poll(() => timeline(id, from), { timeout: 20_000 })
    .toEqual(
      expect.arrayContaining([expect.objectContaining({ type, data: expect.objectContaining(data) as unknown })]),
    )
}

async function requireGvisor(context: TestContext): Promise<void> {
  const rungs = await server.plane.rungs()
  const here = rungs.some(({ rung, probe }) => rung === 'gvisor' && probe.available && probe.capabilities.processRecord)
  if (!here) context.skip('gVisor does not tell of processes here')
}

async function step(id: string, command: string, name: string, from = server): Promise<number> {
  using use = await from.plane.use(await from.caller(), id)
  const process = await use.sandbox.spawn(command, { step: name })
  await process.wait()
  return process.id
}

describe('processes that commands start', { timeout: 60_000 }, () => {
  it('are in the timeline from the first command on, with command and step', async (context) => {
    await requireGvisor(context)
    const { id } = await server.create(RECORDED)
    const process = await step(id, '/bin/echo one two; sh -c "exit 4"', 'build')
    await until(id, 'process.started', { process, step: 'build', argv: ['/bin/echo', 'one', 'two'], seen: 'whole' })
    await until(id, 'process.exited', { process, step: 'build', exitCode: 4, signal: null })
    await server.plane.delete(await server.caller(), id)
    const events = await timeline(id)
    expect(events.some(({ type }) => type === 'record.dropped')).toBe(false)
    expect(await server.store.events.verify((await server.caller()).tenantId, id)).toMatchObject({ valid: true })
  })

  it('of a fork bomb are recorded within bounds, and the record says how many it has not', async (context) => {
    await requireGvisor(context)
    await using other = await TestHome.make()
    await using bounded = await other.start({ bounds: { perSecond: 2, burst: 20 } })
    const caller = await bounded.caller()
    const { id } = await bounded.create({ ...RECORDED, limits: { pids: 100 } })
    const begun = performance.now()
    {
      using use = await bounded.plane.use(caller, id)
      const bomb = await use.sandbox.exec(['perl', '-e', BOMB], { timeoutMs: 5000 })
      expect(bomb).toMatchObject({ timedOut: true })
    }
    // There is room again for what comes later.
    await sleep(4000)
    await step(id, '/bin/echo after', 'after', bounded)
    await until(id, 'process.started', { argv: ['/bin/echo', 'after'], step: 'after' }, bounded)
    const seconds = (performance.now() - begun) / 1000
    const events = await timeline(id, bounded)
    const recorded = events.filter(({ type }) => type === 'process.started' || type === 'process.exited').length
    expect(recorded).toBeGreaterThanOrEqual(20)
    expect(recorded).toBeLessThanOrEqual(20 + 2 * seconds)
    // Beyond the rate of the record; on a busy machine they are already missing where they are seen.
    const dropped = events.filter(({ type }) => type === 'record.dropped')
    const kinds = dropped.map(({ data }) => data['kinds'] as Record<string, number>)
    expect(kinds.reduce((sum, { process = 0 }) => sum + process, 0)).toBeGreaterThan(0)
    // It hides nothing of what is recorded besides.
    expect(events.filter(({ type }) => type === 'command.exited').length).toBe(2)
    expect(await bounded.store.events.verify(caller.tenantId, id)).toMatchObject({ valid: true })
  })

  it('are not, where nobody asked', async (context) => {
    await requireGvisor(context)
    const { id } = await server.create({ rung: 'gvisor' })
    await step(id, '/bin/true', 'quiet')
    await sleep(300)
    expect((await timeline(id)).filter(({ type }) => type.startsWith('process.'))).toEqual([])
  })

  it('are refused on rungs that cannot tell', async () => {
    for (const rung of ['simulated', 'process'] as const) {
      const refused = server.create({ rung, record: { processes: true } })
      await expect(refused).rejects.toMatchObject({ code: 'capability_unsupported' })
    }
  })

  it('are heard of again after a pause, a sleep and a restart of the server', async (context) => {
    await requireGvisor(context)
    await using other = await TestHome.make()
    const first = await other.start()
    const caller = await first.caller()
    const { id } = await first.create(RECORDED)
    await first.plane.pause(caller, id)
    await first[Symbol.asyncDispose]()
    await using second = await other.start()
    await second.plane.resume(caller, id)
    await step(id, '/bin/echo resumed', 'after', second)
    await until(id, 'process.started', { argv: ['/bin/echo', 'resumed'], step: 'after' }, second)
    await second.plane.sleep.hibernate(caller, id, {})
    await step(id, '/bin/echo woken', 'later', second)
    await until(id, 'process.started', { argv: ['/bin/echo', 'woken'], step: 'later' }, second)
    const events = await timeline(id, second)
    expect(events.filter(({ type }) => type === 'record.dropped')).toEqual([])
    expect(await second.store.events.verify(caller.tenantId, id)).toMatchObject({ valid: true })
  })
})
