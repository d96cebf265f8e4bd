import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { SandboxId } from '@hearth/contract'
import { CreateProgress } from './create-progress.ts'
import { TestHome } from './test-server.ts'

it('tells the newest line now and again, bounded, and nothing after the end', async () => {
  await using home = await TestHome.make()
  await using server = await home.start()
  const { tenantId } = await server.caller()
  const id = (await server.create({ rung: 'simulated' })).id as SandboxId
  const problems: unknown[] = []
  const context = { store: server.store, report: (_: string, error: unknown) => void problems.push(error) }
  const progress = new CreateProgress(context, { id, tenantId }, 50)
  const lines = async (): Promise<unknown[]> => {
    const { events } = await server.store.events.page({ tenantId, sandboxId: id, types: ['sandbox.progress'] })
    return events.map(({ data }) => data['line'])
  }
  for (const line of ['unpacking 1', 'unpacking 2', `${'x'.repeat(2000)}\n`]) progress.say(line)
  await expect.poll(lines).toEqual(['x'.repeat(1024)])
  progress.say('configuring')
  await expect.poll(lines).toEqual(['x'.repeat(1024), 'configuring'])
  progress.say('nobody reads this')
  progress.stop()
  progress.say('nor this')
  await sleep(100)
  expect(await lines()).toHaveLength(2)
  expect(problems).toEqual([])
})
