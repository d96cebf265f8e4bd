import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { TestHome } from './test-server.ts'

describe('a pause', () => {
  it('stops everything until the next use wakes it, once', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const caller = await server.caller()
    const { id } = await server.create()
    await server.run(id, 'nohup sh -c "while :; do echo >>/tmp/ticks; sleep 0.01; done" >/dev/null 2>&1 &')
    await sleep(100)
    expect(await server.plane.pause(caller, id)).toMatchObject({ state: 'paused' })
    expect(await server.plane.pause(caller, id)).toMatchObject({ state: 'paused' })
    await sleep(500)
    const counts = await Promise.all([1, 2, 3].map(() => server.run(id, 'wc -l </tmp/ticks')))
    // Half a second awake would have made fifty.
    expect(Math.max(...counts.map(Number))).toBeLessThan(40)
    expect(await server.plane.resume(caller, id)).toMatchObject({ state: 'running' })
    expect(await server.events(id)).toEqual(['sandbox.created', 'sandbox.running', 'sandbox.paused', 'sandbox.resumed'])
    await server.plane.pause(caller, id)
    await server.plane.delete(caller, id)
    expect(await home.keepers()).toEqual([])
    expect(server.problems).toEqual([])
  })

  it('ends at the deadline too', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const { id } = await server.create({ ttlMs: 3000 })
    await server.plane.pause(await server.caller(), id)
    const now = async (): Promise<unknown> => await server.plane.get(await server.caller(), id)
    await expect.poll(now, { timeout: 15_000 }).toMatchObject({ state: 'stopped', reason: 'expired' })
    expect(await home.keepers()).toEqual([])
  })

  it('does not stop the clock: a command whose time has passed meanwhile is ended when it wakes', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const caller = await server.caller()
    const { id } = await server.create()
    using use = await server.plane.use(caller, id)
    const late = await use.sandbox.spawn('echo begun; sleep 60', { timeoutMs: 1000 })
    await server.plane.pause(caller, id)
    await sleep(1200)
    await server.plane.resume(caller, id)
    expect(await late.wait()).toMatchObject({ timedOut: true })
    await server.plane.delete(caller, id)
  })

  it('is refused where the rung cannot, and the sandbox goes on', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const { id } = await server.create({ rung: 'simulated' })
    await expect(server.plane.pause(await server.caller(), id)).rejects.toMatchObject({
      code: 'capability_unsupported',
    })
    expect(await server.run(id, 'echo on')).toBe('on\n')
    await server.plane.delete(await server.caller(), id)
  })
})

describe('an idle sandbox', () => {
  it('is paused, but never while somebody waits for a command, and wakes', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const caller = await server.caller()
    const { id, idleAction } = await server.create({ idleMs: 1000 })
    expect(idleAction).toBe('pause')
    expect(await server.run(id, 'sleep 1.5; echo done')).toBe('done\n')
    expect(await server.plane.get(caller, id)).toMatchObject({ state: 'running' })
    await sleep(1300)
    expect(await server.plane.get(caller, id)).toMatchObject({ state: 'paused' })
    expect(await server.run(id, 'echo awake')).toBe('awake\n')
    await server.plane.delete(caller, id)
    expect(server.problems).toEqual([])
  })

  it('is ended where that was asked for', async () => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const { id } = await server.create({ idleMs: 1000, idleAction: 'kill' })
    await sleep(1400)
    expect(await server.plane.get(await server.caller(), id)).toMatchObject({ state: 'stopped', reason: 'idle' })
    expect([await home.keepers(), await home.directories()]).toEqual([[], []])
  })
})
