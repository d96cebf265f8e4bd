import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { TestHome } from './test-server.ts'

it('a sandbox that sleeps is not given up because its record cannot be read for a while', async () => {
  await using home = await TestHome.make()
  await using server = await home.start()
  const caller = await server.caller()
  const { id } = await server.create()
  await server.run(id, 'echo kept >/tmp/kept')
  await server.plane.sleep.hibernate(caller, id, {})
  const record = join(home.path, 'sandboxes', id, 'sandbox.json')
  await rename(record, `${record}.kept`)
  await mkdir(record)
  await server.plane.reconcile()
  expect(await server.plane.get(caller, id)).toMatchObject({ state: 'hibernated' })
  expect(server.problems.join()).toContain(`looking at sandbox ${id}`)
  await rm(record, { recursive: true })
  await rename(`${record}.kept`, record)
  expect(await server.run(id, 'cat /tmp/kept')).toBe('kept\n')
})
