import { describe, expect, it } from 'vitest'
import { dialectsOf, withNetworks, withReach } from './dialect-option.ts'

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

describe('--webhook-network', () => {
  it('names networks for the webhooks of E2B', () => {
    const networks = ['10.0.0.0/8', 'fd00::/8']
    expect(withNetworks({ e2b: { port: 1 } }, networks)).toEqual({ e2b: { port: 1, webhooks: { networks } } })
    expect(withNetworks({ e2b: { port: 1 } }, [])).toEqual({ e2b: { port: 1 } })
    expect(() => withNetworks({ pandastack: { port: 1 } }, networks)).toThrow(/needs the dialect/)
    for (const wrong of ['10.0.0.0', '10.0.0.0/33', 'name/8', '::/129', '10.0.0.0/']) {
      expect(() => withNetworks({ e2b: { port: 1 } }, [wrong])).toThrow(/no network/)
    }
  })
})

describe('--dialect-allow', () => {
  it('takes names, presets, or everything that is public', () => {
    const e2b = { port: 1 }
    const policyOf = (...words: string[]) => withReach({ e2b }, words).policy
    expect(withReach({ e2b }, [])).toEqual({ e2b })
    expect(policyOf('pypi,npm', 'api.example.com', '*.example.com:8443')).toEqual({
      presets: ['pypi', 'npm'],
      allow: ['api.example.com', '*.example.com:8443'],
    })
    expect(policyOf('public')).toEqual({ mode: 'audit' })
    for (const wrong of [['pypl'], ['public', 'npm'], ['10.0.0.1'], ['a..b.example'], ['example.com:99999'], [',']]) {
      expect(() => policyOf(...wrong), wrong.join(' ')).toThrow(/--dialect-allow|policy/)
    }
    expect(() => withReach({}, ['npm'])).toThrow(/needs a dialect/)
  })
})
