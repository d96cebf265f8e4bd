import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { newSandboxId } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { TestHome } from './test-server.ts'

it('running and paused sandboxes, their commands and deadlines survive an orderly restart', async () => {
  await using home = await TestHome.make()
  let server = await home.start()
  const made = await server.create({ ttlMs: 60_000 })
  const paused = await server.create()
  const short = await server.create({ ttlMs: 2500 })
  const simulated = await server.create({ rung: 'simulated' })
  const caller = await server.caller()
  const process = await (async () => {
    using use = await server.plane.use(caller, made.id)
    const started = await use.sandbox.spawn('echo before; sleep 0.5; echo after')
    await started.detach()
    return started.id
  })()
  await server.plane.pause(caller, paused.id)
  await server.plane.close()
  await expect(server.plane.get(caller, made.id)).rejects.toMatchObject({ code: 'shutting_down' })
  server = await home.start()
  await using _server = server
  const again = await server.caller()
  expect(await server.plane.get(again, made.id)).toEqual(made)
  using use = await server.plane.use(again, made.id)
  const output: string[] = []
  const attached = await use.sandbox.attach(process)
  for await (const { data } of attached.output) output.push(Buffer.from(data).toString())
  expect(output.join('')).toBe('before\nafter\n')
  expect(await server.plane.get(again, paused.id)).toMatchObject({ state: 'paused' })
  expect(await server.run(paused.id, 'echo awake')).toBe('awake\n')
  expect(await server.plane.get(again, simulated.id)).toMatchObject({ state: 'stopped' })
  await sleep(2000)
  expect(await server.plane.get(again, short.id)).toMatchObject({ state: 'stopped', reason: 'expired' })
  for (const { id } of [made, paused, short, simulated]) await server.plane.delete(again, id)
  expect([await home.directories(), await home.keepers(), server.problems]).toEqual([[], [], []])
})

it('what no row tells of is removed, and a row without a machine has ended', async () => {
  await using home = await TestHome.make()
  let server = await home.start()
  const { id } = await server.create()
  await server.plane.close()
  const keeper = Number(readFileSync(join(home.path, 'sandboxes', id, 'keeper.pid'), 'utf8').split(' ')[0])
  process.kill(keeper, 'SIGKILL')
  const orphan = newSandboxId()
  const hearth = new Hearth({ home: home.path, spareKeepers: 0 })
  await (await hearth.create({ rung: 'process' }, { id: orphan })).release()
  await hearth.dispose()
  expect(await home.keepers()).toContain(orphan)
  server = await home.start()
  await using _server = server
  expect(await server.plane.get(await server.caller(), id)).toMatchObject({ state: 'stopped', reason: /^gone/ })
  expect([await home.directories(), await home.keepers()]).toEqual([[], []])
})

it('one server at a time has a home', async () => {
  await using home = await TestHome.make()
  await using _server = await home.start()
  await expect(home.start()).rejects.toMatchObject({ code: 'conflict' })
})
