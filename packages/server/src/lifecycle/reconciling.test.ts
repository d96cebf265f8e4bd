import { execFileSync } from 'node:child_process'
import { mkdir, rename, rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { newSandboxId } from '@hearth/contract'
import { expect, it, vi } from 'vitest'
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

const root = process.getuid?.() === 0

/** What is left of a sandbox and cannot be removed: something is mounted in it. Gives a way to end that. */
async function leaveStuck(home: string, id: string): Promise<Disposable> {
  const directory = join(home, 'sandboxes', id)
  await mkdir(join(directory, 'mounted'), { recursive: true })
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(directory, 'mounted')])
  await utimes(directory, new Date(0), new Date(0))
  return { [Symbol.dispose]: () => execFileSync('umount', [join(directory, 'mounted')]) }
}

it.skipIf(!root)(
  'one leftover that cannot be removed keeps no server from starting and no other from being removed',
  async () => {
    await using home = await TestHome.make()
    const [first = '', second = ''] = [newSandboxId(), newSandboxId()].toSorted()
    {
      using _stuck = await leaveStuck(home.path, first)
      await mkdir(join(home.path, 'sandboxes', second))
      await using server = await home.start()
      expect(await home.directories()).toEqual([first])
      const { id } = await server.create()
      expect(await server.run(id, 'echo works')).toBe('works\n')
      expect(server.problems.join()).toContain(`removing ${first}: Error: EBUSY`)
      expect(server.problems.join()).toContain(`sweeping sandbox ${first}`)
    }
    await using later = await home.start()
    expect(await home.directories()).not.toContain(first)
    expect(later.problems).toEqual([])
  },
)

it.skipIf(!root)('a hibernation whose clean-up fails leaves a sandbox that sleeps', async () => {
  await using home = await TestHome.make()
  await using server = await home.start()
  const caller = await server.caller()
  const { id } = await server.create()
  await server.run(id, 'echo kept >/tmp/kept')
  {
    using _stuck = await leaveStuck(home.path, id)
    expect(await server.plane.sleep.hibernate(caller, id, {})).toMatchObject({ state: 'hibernated' })
    expect(server.problems.join()).toContain('EBUSY')
    await server.plane.reconcile()
    expect(await server.plane.get(caller, id)).toMatchObject({ state: 'hibernated' })
  }
  expect(await server.run(id, 'cat /tmp/kept')).toBe('kept\n')
})

it.skipIf(!root)('one that has ended and cannot be removed keeps no older one', async () => {
  await using home = await TestHome.make()
  await using server = await home.start({ housekeeping: { endedMs: 0 } })
  const caller = await server.caller()
  const made = await Promise.all([server.create(), server.create(), server.create()])
  for (const { id } of made) await server.plane.stop(caller, id)
  const stuck = made[1]?.id ?? ''
  {
    using _stuck = await leaveStuck(home.path, stuck)
    await server.plane.reconcile()
    const states = await Promise.all(made.map(({ id }) => server.store.sandboxes.find(id)))
    expect(states.map((record) => record?.state)).toEqual([undefined, 'deleting', undefined])
    expect(server.problems.join()).toContain(`removing ${stuck}`)
  }
  // It is tried again a while after it failed.
  await vi.waitFor(async () => {
    await server.plane.reconcile()
    expect(await home.directories()).toEqual([])
  }, 10_000)
})
