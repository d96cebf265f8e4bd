import { describe, expect, it } from 'vitest'
import { NEVER, TestHome, type TestServer } from './test-server.ts'

const UNKEYED = { idempotencyKey: null, signal: NEVER }

/** A server with one sandbox, and something to do when it comes to a step. */
async function prepare(home: TestHome): Promise<{ server: TestServer; parent: string; at: Map<string, () => void> }> {
  const at = new Map<string, () => void>()
  const server = await home.start({ onStep: (step) => at.get(step)?.() })
  const { id } = await server.create()
  await server.run(id, 'echo kept >/tmp/kept')
  return { server, parent: id, at }
}

async function expectAlone(home: TestHome, server: TestServer, parent: string): Promise<void> {
  expect(await server.states()).toEqual({ [parent]: 'running' })
  expect([await home.directories(), await home.snapshots(), await server.snapshots()]).toEqual([[parent], [], []])
  expect(await server.run(parent, 'cat /tmp/kept')).toBe('kept\n')
  expect(server.problems).toEqual([])
}

describe('copies of a sandbox', () => {
  it('that nobody waits for any more leave nothing', async () => {
    await using home = await TestHome.make()
    const { server, parent, at } = await prepare(home)
    await using _server = server
    const caller = await server.caller()
    for (const step of ['fork:begun', 'fork:launched', 'snapshot:begun', 'snapshot:taken'] as const) {
      const gone = new AbortController()
      at.set(step, () => gone.abort())
      const call = { idempotencyKey: null, signal: gone.signal }
      const { copies } = server.plane
      const work = step.startsWith('fork')
        ? copies.fork(caller, parent, { count: 2 }, call)
        : copies.snapshot(caller, parent, {}, call)
      await expect(work, step).rejects.toMatchObject({ code: 'aborted' })
      at.clear()
      await expectAlone(home, server, parent)
    }
  })

  it('with a key come to an end without their caller', async () => {
    await using home = await TestHome.make()
    const { server, parent, at } = await prepare(home)
    await using _server = server
    const caller = await server.caller()
    const gone = new AbortController()
    at.set('fork:begun', () => gone.abort())
    const request = { count: 2 }
    const keyed = { idempotencyKey: 'key', signal: gone.signal }
    await expect(server.plane.copies.fork(caller, parent, request, keyed)).rejects.toMatchObject({ code: 'aborted' })
    const { children } = await server.plane.copies.fork(caller, parent, request, { ...keyed, signal: NEVER })
    expect(Object.keys(await server.states()).toSorted()).toEqual([parent, ...children.map(({ id }) => id)].toSorted())
  })

  it('give way to the end of their parent, and to that of one of them', async () => {
    await using home = await TestHome.make()
    const { server, parent, at } = await prepare(home)
    await using _server = server
    const caller = await server.caller()
    const ends: Promise<void>[] = []
    const endAtBegin = (find: () => Promise<string>): void => {
      at.set('fork:begun', () => void ends.push(find().then((id) => server.plane.delete(caller, id))))
    }
    const fork = (): Promise<unknown> => server.plane.copies.fork(caller, parent, { count: 2 }, UNKEYED)
    endAtBegin(async () => Object.keys(await server.states()).find((id) => id !== parent) ?? '')
    await fork().catch((error: unknown) => expect(error).toMatchObject({ code: 'aborted' }))
    await Promise.all(ends)
    for (const id of Object.keys(await server.states())) if (id !== parent) await server.plane.delete(caller, id)
    await expectAlone(home, server, parent)
    endAtBegin(async () => parent)
    await fork().catch((error: unknown) => expect(error).toMatchObject({ code: 'aborted' }))
    await Promise.all(ends)
    for (const id of Object.keys(await server.states())) await server.plane.delete(caller, id)
    expect([await server.states(), await home.directories(), await home.snapshots()]).toEqual([{}, [], []])
    expect(server.problems).toEqual([])
  })

  it('leave a paused sandbox paused', async () => {
    await using home = await TestHome.make()
    const { server, parent } = await prepare(home)
    await using _server = server
    const caller = await server.caller()
    await server.plane.pause(caller, parent)
    const { id } = await server.plane.copies.snapshot(caller, parent, {}, UNKEYED)
    const { children } = await server.plane.copies.fork(caller, parent, { count: 1 }, UNKEYED)
    expect((await server.states())[parent]).toBe('paused')
    const child = children[0]?.id ?? ''
    const copy = await server.create({ from: id })
    for (const made of [child, copy.id]) expect(await server.run(made, 'cat /tmp/kept')).toBe('kept\n')
    // A merge needs both awake.
    await server.run(child, 'echo made >/tmp/made')
    await server.plane.copies.merge(caller, parent, { child }, NEVER)
    expect(await server.run(parent, 'cat /tmp/made')).toBe('made\n')
  })
})
