import { describe, expect, it } from 'vitest'
import { dialectsOf } from './dialect-option.ts'

describe('--dialect', () => {
  it('is on by default on loopback alone', () => {
    expect(dialectsOf([])).toEqual({
      e2b: { port: 7071, optional: true },
      pandastack: { port: 7072, optional: true },
    })
    expect(dialectsOf([], '0.0.0.0')).toEqual({})
  })

  it('takes a port and a domain', () => {
    expect(dialectsOf(['e2b'], '0.0.0.0')).toEqual({ e2b: { port: 7071 } })
    expect(dialectsOf(['e2b=0'])).toEqual({ e2b: { port: 0 } })
    expect(dialectsOf(['e2b=8080,sandboxes.test:8443'])).toEqual({ e2b: { port: 8080, domain: 'sandboxes.test:8443' } })
    expect(dialectsOf(['none'])).toEqual({})
    expect(dialectsOf(['pandastack=0', 'e2b=1'])).toEqual({ pandastack: { port: 0 }, e2b: { port: 1 } })
  })

  it('refuses what it does not know', () => {
    for (const wrong of [
      ['e3b=1'],
      ['e2b=70000'],
      ['e2b='],
      ['e2b=1', 'e2b=2'],
      ['none', 'e2b=1'],
      ['e2b=1,no domain'],
      ['pandastack=1,sandboxes.test'],
    ]) {
      expect(() => dialectsOf(wrong)).toThrow(/--dialect/)
    }
  })
})
