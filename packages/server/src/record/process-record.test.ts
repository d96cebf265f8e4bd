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

async function timeline(id: string, from = server): Promise<readonly StoredEvent[]> {
  return (await from.store.events.page({ sandboxId: id, limit: 1000 })).events
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
