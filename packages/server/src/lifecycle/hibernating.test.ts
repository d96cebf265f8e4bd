import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { NEVER, TestHome, type TestServer } from './test-server.ts'

/** A state of the sandbox comes by itself. */
async function untilState(server: TestServer, id: string, state: string): Promise<void> {
  while ((await server.plane.get(await server.caller(), id)).state !== state) await sleep(50)
}

describe('a hibernated sandbox', () => {
  it('holds a record alone, and any use wakes it, once, under the same identifier', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const caller = await server.caller()
    const { id } = await server.create()
    await server.run(id, 'echo kept >/tmp/kept')
    const asleep = await server.plane.sleep.hibernate(caller, id, {})
    expect(asleep).toMatchObject({
      id,
      state: 'hibernated',
      hibernation: { memory: false, reason: expect.any(String) },
    })
    expect(await server.plane.sleep.hibernate(caller, id, {})).toEqual(asleep)
    expect([await home.keepers(), readdirSync(join(home.path, 'sandboxes', id))]).toEqual([[], ['sandbox.json']])
    const all = await Promise.all([1, 2, 3].map(() => server.run(id, 'cat /tmp/kept; hostname')))
    expect(new Set(all)).toEqual(new Set([`kept\n${id.replace('_', '-')}\n`]))
    expect(await server.plane.get(caller, id)).toMatchObject({ state: 'running', hibernation: null })
    const events = (await server.events(id)).filter((type) => type.startsWith('sandbox.'))
    expect(events).toEqual(['sandbox.created', 'sandbox.running', 'sandbox.hibernated', 'sandbox.woken'])
    await expect(server.plane.sleep.hibernate(caller, id, { memory: 'required' })).rejects.toMatchObject({
      code: 'memory_unsupported',
    })
    expect(await server.run(id, 'cat /tmp/kept')).toBe('kept\n')
    await server.plane.pause(caller, id)
    await server.plane.sleep.hibernate(caller, id, {})
    await expect(server.plane.pause(caller, id)).rejects.toMatchObject({ code: 'invalid_state' })
    expect(await server.plane.resume(caller, id)).toMatchObject({ state: 'running' })
    await server.plane.sleep.hibernate(caller, id, {})
    await server.plane.delete(caller, id)
    await server.plane.reconcile()
    expect([await home.directories(), await home.snapshots(), server.problems]).toEqual([[], [], []])
  })

  it('wakes for snapshots, forks and diffs, survives a restart, and counts its disk alone', async () => {
    await using home = await TestHome.make()
    let server = await home.start()
    const caller = await server.caller()
    const { id } = await server.create()
    await server.run(id, 'echo kept >/tmp/kept')
    await server.store.tenants.setQuotas(caller.tenantId, { sandboxes: 1 })
    await expect(server.create()).rejects.toMatchObject({ code: 'quota_exceeded' })
    await server.plane.sleep.hibernate(caller, id, {})
    const before = await server.store.sandboxes.usage(caller.tenantId)
    expect(before).toMatchObject({ sandboxes: 0, cpus: 0, memoryBytes: 0 })
    expect(before.diskBytes).toBeGreaterThan(0)
    const other = await server.create()
    await expect(server.run(id, 'true')).rejects.toMatchObject({ code: 'quota_exceeded' })
    expect(await server.plane.get(caller, id)).toMatchObject({ state: 'hibernated' })
    await server.plane.delete(caller, other.id)
    await server.plane.close()
    server = await home.start()
    await using _server = server
    expect(await server.states()).toEqual({ [id]: 'hibernated' })
    await server.store.tenants.setQuotas(caller.tenantId, { sandboxes: 10 })
    const call = { idempotencyKey: null, signal: NEVER }
    await server.plane.copies.snapshot(caller, id, { name: 'taken' }, call)
    await server.plane.sleep.hibernate(caller, id, {})
    const { children } = await server.plane.copies.fork(caller, id, { count: 1 }, call)
    expect(await server.run(children[0]?.id ?? '', 'cat /tmp/kept')).toBe('kept\n')
    await server.plane.sleep.hibernate(caller, id, {})
    const changes = await server.plane.copies.diff(caller, id, {})
    expect(changes.map(({ path }) => path)).toContain('/tmp/kept')
    expect(server.problems).toEqual([])
  })

  it('ends at its deadline, which can be moved meanwhile', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const caller = await server.caller()
    const moved = await server.create({ ttlMs: 20_000 })
    const { id } = await server.create({ ttlMs: 20_000 })
    for (const sandbox of [moved.id, id]) await server.plane.sleep.hibernate(caller, sandbox, {})
    await server.plane.renew(caller, moved.id, 600_000)
    await server.plane.renew(caller, id, 1000)
    await untilState(server, id, 'stopped')
    expect(await server.plane.get(caller, id)).toMatchObject({ reason: 'expired' })
    await server.plane.reconcile()
    expect([await home.directories(), await home.slept()]).toEqual([[moved.id], await home.snapshots()])
    expect(await server.run(moved.id, 'echo awake')).toBe('awake\n')
    expect(server.problems).toEqual([])
  })

  it('becomes so when nobody uses it, where that was asked for', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const { id } = await server.create({ rung: 'simulated', idleMs: 1000, idleAction: 'hibernate' })
    await server.run(id, 'echo kept >/tmp/kept')
    await untilState(server, id, 'hibernated')
    expect(await server.run(id, 'cat /tmp/kept')).toBe('kept\n')
    await untilState(server, id, 'hibernated')
    expect(server.problems).toEqual([])
  })

  it('never loses a process by itself: where it cannot be captured the sandbox is paused', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const caller = await server.caller()
    const { id } = await server.create({ idleMs: 1000, idleAction: 'hibernate' })
    await server.run(id, 'nohup sh -c "echo here; exec sleep 600" >/tmp/log 2>&1 & echo $! >/tmp/pid')
    await untilState(server, id, 'paused')
    const { events } = await server.store.events.page({ sandboxId: id })
    const paused = events.find(({ type }) => type === 'sandbox.paused')
    expect(paused?.data).toMatchObject({ cause: 'idle', reason: expect.stringContaining('processes run in it') })
    expect(await server.run(id, 'kill -9 $(cat /tmp/pid) && cat /tmp/log')).toBe('here\n')
    await untilState(server, id, 'hibernated')
    await server.plane.delete(caller, id)
    expect(server.problems).toEqual([])
  })

  it('keeps its processes where the rung captures them, and is paused when that is refused', async (test) => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const caller = await server.caller()
    const rungs = await server.plane.rungs()
    if (!rungs.some(({ rung, probe }) => rung === 'gvisor' && probe.available && probe.capabilities.memory))
      test.skip('gVisor does not run here')
    const { id } = await server.create({ rung: 'gvisor', idleMs: 1000, idleAction: 'hibernate' })
    await server.run(id, 'nohup sleep 600 >/dev/null 2>&1 & echo $! >/tmp/pid')
    await untilState(server, id, 'hibernated')
    expect(await server.plane.get(caller, id)).toMatchObject({ hibernation: { memory: true, reason: null } })
    expect(await server.run(id, 'kill -0 $(cat /tmp/pid) && echo runs')).toBe('runs\n')
    await server.run(id, 'nohup sleep 600 3>/tmp/gone >/dev/null 2>&1 & rm /tmp/gone')
    await untilState(server, id, 'paused')
    const { events } = await server.store.events.page({ sandboxId: id })
    const paused = events.find(({ type }) => type === 'sandbox.paused')
    expect(paused?.data).toMatchObject({ cause: 'idle', reason: expect.stringContaining('deleted: gone') })
    await server.plane.delete(caller, id)
    expect(server.problems).toEqual([])
  }, 60_000)
})
