import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { TestHome } from './test-server.ts'

it('a secret that another host replaced or removed is so here with the next round', { timeout: 60_000 }, async () => {
  await using home = await TestHome.make()
  await using server = await home.start()
  const { tenantId } = await server.caller()
  const binding = { name: 'api.test', placement: { in: 'basic' } } as const
  const put = async (value: string): Promise<void> =>
    void (await server.store.secrets.put(tenantId, { name: 'TOKEN', value, binding }))
  await put('the first value of it')
  await server.create({ rung: 'simulated', policy: { allow: ['api.test'] }, secrets: [{ secret: 'TOKEN' }] })
  await server.plane.reconcile()
  const read = vi.spyOn(server.store.secrets, 'reveal')
  await server.plane.reconcile()
  expect(read).not.toHaveBeenCalled()
  await sleep(5)
  await put('the second value of it')
  await server.plane.reconcile()
  expect(read).toHaveBeenCalledTimes(1)
  await server.store.secrets.remove(tenantId, 'TOKEN')
  await server.plane.reconcile()
  await server.plane.reconcile()
  expect(read).toHaveBeenCalledTimes(2)
  expect(server.problems).toEqual([])
})
