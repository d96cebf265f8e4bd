import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { expectRefusal, output } from '../support/expectations.ts'
import type { ForkSuite } from './fork-suite.ts'

export function describeSnapshots(suite: ForkSuite): void {
  const { snapshots, create } = suite.options
  const newName = (): string => `suite-${randomBytes(6).toString('hex')}`

  suite.test('a snapshot outlives its sandbox and is the start of others', { timeoutMs: 60_000 }, async (parent) => {
    const name = newName()
    await output(parent, 'echo captured > /tmp/srv/file')
    const taken = await parent.snapshot({ name, metadata: { for: 'test' } })
    expect(taken).toMatchObject({ name, sandbox: parent.id, parent: null, rung: parent.info.rung })
    expect(taken).toMatchObject({
      template: parent.info.template,
      metadata: { for: 'test' },
      limits: parent.info.limits,
    })
    expect(taken.memory).toBe(suite.options.capabilities.memory)
    expect(taken.diskBytes).toBeGreaterThan(0)
    await output(parent, 'echo later >> /tmp/srv/file')
    await parent.kill()
    expect(await snapshots.get(name)).toEqual(taken)
    expect((await snapshots.list()).map((info) => info.id)).toContain(taken.id)
    {
      await using one = await create({ from: name, metadata: { number: '1' } })
      await using other = await create({ from: taken.id, env: { ADDED: 'yes' } })
      expect(await output(one, 'cat /tmp/srv/file; hostname')).toBe(`captured\n${one.id.replace('_', '-')}`)
      expect(await output(other, 'cat /tmp/srv/file; echo $ADDED')).toBe('captured\nyes')
      expect(one.info).toMatchObject({ parent: null, origin: taken.id, metadata: { number: '1' } })
      await expectRefusal(snapshots.remove(name), 'snapshot_in_use')
      const again = await one.snapshot()
      expect(again.parent).toBe(taken.id)
      await snapshots.remove(again.id)
    }
    await snapshots.remove(name)
    await expectRefusal(snapshots.get(name), 'snapshot_not_found')
    await expectRefusal(create({ from: taken.id }), 'snapshot_not_found')
  })

  suite.test('a name belongs to one snapshot, and forks are not listed', { timeoutMs: 60_000 }, async (parent) => {
    const name = newName()
    const taken = await parent.snapshot({ name, memory: 'none' })
    expect(taken.memory).toBe(false)
    await expectRefusal(parent.snapshot({ name, memory: 'none' }), 'conflict')
    const { children } = await parent.fork(1, { memory: 'none' })
    const listed = (await snapshots.list()).filter((info) => info.sandbox === parent.id)
    expect(listed).toEqual([taken])
    const origin = children[0]?.info.origin ?? ''
    await expectRefusal(snapshots.remove(origin), 'snapshot_in_use')
    await Promise.all(children.map((child) => child.kill()))
    await expectRefusal(snapshots.get(origin), 'snapshot_not_found')
    await snapshots.remove(name)
  })

  suite.test('what does not fit a snapshot is refused', { timeoutMs: 60_000 }, async (parent) => {
    const taken = await parent.snapshot({ memory: 'none' })
    const other = parent.info.rung === 'process' ? 'container' : 'process'
    await expectRefusal(create({ from: taken.id, rung: other }), 'snapshot_incompatible')
    await expectRefusal(create({ from: taken.id, template: 'another' }), 'snapshot_incompatible')
    await expectRefusal(create({ from: taken.id, memory: 'required' }), 'memory_unsupported')
    await expectRefusal(create({ from: 'no-such-snapshot' }), 'snapshot_not_found')
    await snapshots.remove(taken.id)
  })
}
