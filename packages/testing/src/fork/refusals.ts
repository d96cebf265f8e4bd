import { BOUNDS } from '@hearth/contract'
import { expect } from 'vitest'
import { expectRefusal, output } from '../support/expectations.ts'
import { Copies, type ForkSuite } from './fork-suite.ts'

export function describeRefusals(suite: ForkSuite): void {
  const { memory } = suite.options.capabilities

  suite.test('what makes no sense is refused', {}, async (parent) => {
    for (const count of [0, -1, 1.5, Number.NaN, BOUNDS.children + 1])
      await expectRefusal(parent.fork(count), 'invalid_request')
    await expectRefusal(parent.fork(1, { each: [{}, {}] }), 'invalid_request')
    await expectRefusal(parent.fork(1, { ttlMs: 1 }), 'invalid_request')
    await expectRefusal(parent.fork(1, { env: { 'not a name': '' } }), 'invalid_request')
    await expectRefusal(parent.snapshot({ name: '../up' }), 'invalid_request')
    await expectRefusal(parent.snapshot({ name: 'Capital' }), 'invalid_request')
    expect(await output(parent, 'echo alive')).toBe('alive')
  })

  suite.test('memory is captured, or refused with a reason', {}, async (parent) => {
    await using copies = new Copies((await parent.fork(1, { memory: 'none' })).children)
    expect(await copies.first.processes()).toEqual([])
    if (memory) {
      const { children, ...outcome } = await parent.fork(1, { memory: 'required' })
      await using _copies = new Copies(children)
      expect(outcome).toMatchObject({ memory: true, reason: null })
      return
    }
    const refusal = await expectRefusal(parent.fork(1, { memory: 'required' }), 'memory_unsupported')
    expect(refusal.message.length).toBeGreaterThan(40)
    await expectRefusal(parent.snapshot({ memory: 'required' }), 'memory_unsupported')
    expect(await output(parent, 'echo alive')).toBe('alive')
  })

  suite.test('all children or none', { needs: ['processes'], timeoutMs: 60_000 }, async (parent) => {
    // More than fits into one message to the guest: the third child cannot be configured.
    const each = [{}, {}, { env: { LARGE: 'x'.repeat(2 * BOUNDS.frameBytes) } }, {}]
    const refusal = await expectRefusal(parent.fork(4, { each }), 'invalid_request')
    expect(refusal.message).toContain('child 3 of 4')
    expect((await suite.options.list()).filter((info) => info.parent === parent.id)).toEqual([])
    expect(await output(parent, 'echo alive')).toBe('alive')
    await using copies = new Copies((await parent.fork(2)).children)
    expect(await output(copies.first, 'echo alive')).toBe('alive')
  })

  suite.test('a fork that is given up leaves nothing', { timeoutMs: 60_000 }, async (parent) => {
    await expectRefusal(parent.fork(2, { signal: AbortSignal.abort() }), 'aborted')
    expect((await suite.options.list()).filter((info) => info.parent === parent.id)).toEqual([])
    expect(await output(parent, 'echo alive')).toBe('alive')
  })

  suite.test('of an ended sandbox there is no copy', {}, async (parent) => {
    await parent.kill()
    await expectRefusal(parent.fork(1), 'sandbox_ended')
    await expectRefusal(parent.snapshot(), 'sandbox_ended')
  })
}
