import { tmpdir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { Admission, DEFAULT_ADMISSION, measureHost, type Headroom } from './admission.ts'

const PLENTY: Headroom = { memoryBytes: 2 ** 40, diskBytes: 2 ** 40, pids: 100_000 }

function refusal(headroom: Partial<Headroom>, limits = {}): unknown {
  try {
    new Admission(() => ({ ...PLENTY, ...headroom }), limits).enter(0)
    return null
  } catch (error) {
    return error
  }
}

describe('admission', () => {
  it('lets a sandbox in where there is room', () => {
    expect(refusal({})).toBeNull()
  })

  it.each([
    ['memory', { memoryBytes: DEFAULT_ADMISSION.memoryBytes }],
    ['disk', { diskBytes: DEFAULT_ADMISSION.diskBytes - 1 }],
    ['processes', { pids: DEFAULT_ADMISSION.pids - 1 }],
  ])('refuses it before the host runs out of %s, and says that it can be retried', (resource, headroom) => {
    expect(refusal(headroom)).toMatchObject({ code: 'host_full', retryable: true, context: { resource } })
  })

  it('counts those that are just being made', () => {
    const admission = new Admission(() => PLENTY, { creates: 2 })
    const first = admission.enter(0)
    admission.enter(0)
    expect(() => admission.enter(0)).toThrow('creates under way')
    first[Symbol.dispose]()
    first[Symbol.dispose]()
    admission.enter(0)
    expect(() => admission.enter(0)).toThrow('creates under way')
    expect(() => new Admission(() => PLENTY, { sandboxes: 5 }).enter(5)).toThrow('sandboxes')
  })

  it('reads this host', () => {
    const { memoryBytes, diskBytes, pids } = measureHost(tmpdir())
    for (const number of [memoryBytes, diskBytes, pids]) expect(number).toBeGreaterThan(0)
  })
})
