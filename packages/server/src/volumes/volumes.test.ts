import { Hearth } from '@hearth/engine'
import { expect, it } from 'vitest'
import { NEVER, TestHome } from '../lifecycle/test-server.ts'

it('removes a volume that no row tells of when nobody has looked for it in time', async () => {
  await using home = await TestHome.make()
  const engine = new Hearth({ home: home.path, spareKeepers: 0 })
  const { id } = await engine.volumes.create()
  await engine.dispose()
  {
    await using server = await home.start()
    await server.plane.reconcile()
    expect(await home.volumes()).toEqual([id])
    expect(server.problems).toEqual([expect.stringContaining(id)])
  }
  await using server = await home.start({ housekeeping: { orphanVolumeMs: 0 } })
  const kept = await server.plane.volumes.create(await server.caller(), {}, { idempotencyKey: null, signal: NEVER })
  await server.plane.reconcile()
  expect(await home.volumes()).toEqual([kept.id])
})

it('keeps a volume through the death of what has it, and removes that of a child whose machine ends', async () => {
  await using home = await TestHome.make()
  await using server = await home.start()
  const caller = await server.caller()
  await server.plane.volumes.create(caller, { name: 'data' }, { idempotencyKey: null, signal: NEVER })
  const { id } = await server.create({ volumes: [{ volume: 'data', path: '/data' }] })
  await server.run(id, 'echo kept >/data/file')
  const call = { idempotencyKey: null, signal: NEVER }
  const { children } = await server.plane.copies.fork(caller, id, { count: 1, ttlMs: 1000 }, call)
  expect((await server.volumes()).map(({ lifetime }) => lifetime).toSorted()).toEqual(['durable', 'sandbox'])
  await server.plane.stop(caller, id)
  // Its deadline ends the child.
  await expect.poll(async () => (await server.states())[children[0]?.id ?? ''], { timeout: 10_000 }).toBe('stopped')
  await server.plane.reconcile()
  expect((await server.volumes()).map(({ name, sandbox }) => [name, sandbox])).toEqual([['data', null]])
  const next = await server.create({ volumes: [{ volume: 'data', path: '/data' }] })
  expect(await server.run(next.id, 'cat /data/file')).toBe('kept\n')
  expect(server.problems).toEqual([])
})
