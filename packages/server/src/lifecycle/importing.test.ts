import type { Scope } from '@hearth/contract'
import { expect, it } from 'vitest'
import { NEVER, TestHome } from './test-server.ts'

it(
  'memory is taken in from an archive for an operator alone, and counts by what it holds',
  { timeout: 60_000 },
  async (context) => {
    await using home = await TestHome.make()
    await using server = await home.start()
    const rungs = await server.plane.rungs()
    if (!rungs.some(({ rung, probe }) => rung === 'gvisor' && probe.available)) context.skip('gVisor is not here')
    const caller = await server.caller()
    const { id } = await server.create({ rung: 'gvisor' })
    const taken = await server.plane.copies.snapshot(caller, id, {}, { idempotencyKey: null, signal: NEVER })
    expect(taken.memory).toBe(true)
    const bring = async (scopes: readonly Scope[]) =>
      await server.plane.snapshots.import(
        { ...caller, scopes: new Set(scopes) },
        { name: null, content: server.plane.snapshots.export(caller, taken.id), declaredBytes: null, signal: NEVER },
      )
    expect(await bring(['sandbox:write'])).toMatchObject({ memory: false, memoryBytes: 0 })
    const trusted = await bring(['sandbox:write', 'operator'])
    expect(trusted.memory).toBe(true)
    expect(trusted.memoryBytes).toBeGreaterThan(0)
  },
)
