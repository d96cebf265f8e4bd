import { describe, expect, it } from 'vitest'
import { specOver } from './spec.ts'

describe('what a call asks for, over what the session has', () => {
  it('chooses the root and keeps the rest', () => {
    const usual = { template: 'debian', env: { A: '1' }, ttlMs: 60_000 }
    expect(specOver(usual, {})).toEqual(usual)
    expect(specOver(usual, { from: 'prepared', ttlMs: 1000 })).toEqual({
      from: 'prepared',
      env: { A: '1' },
      ttlMs: 1000,
    })
    expect(specOver({ from: 'prepared' }, { template: 'host' })).toEqual({ template: 'host' })
  })

  it('never asks for weaker isolation', () => {
    expect(specOver({ atLeast: 'gvisor' }, { atLeast: 'process' })).toEqual({ atLeast: 'gvisor' })
    expect(specOver({ atLeast: 'process' }, { atLeast: 'microvm' })).toEqual({ atLeast: 'microvm' })
    expect(specOver({ rung: 'gvisor' }, { atLeast: 'process' })).toEqual({ rung: 'gvisor', atLeast: 'process' })
  })
})
