import { describe, expect, it } from 'vitest'
import { SANDBOX_STATES, type SandboxState } from '@hearth/contract'
import {
  ALIVE_STATES,
  assertTransition,
  canTransition,
  isAlive,
  isTransient,
  MACHINE_STATES,
  TRANSITIONS,
} from './lifecycle.ts'

const pairs = SANDBOX_STATES.flatMap((from) => SANDBOX_STATES.map((to) => ({ from, to })))

/** Written out apart from the table, so that a change of the table is a decision made twice. */
const LEGAL = new Set<`${SandboxState} ${SandboxState}`>([
  'creating running',
  'creating failed',
  'creating deleting',
  'running pausing',
  'running hibernating',
  'running stopping',
  'running stopped',
  'running failed',
  'running deleting',
  'pausing paused',
  'pausing running',
  'pausing stopped',
  'pausing failed',
  'pausing deleting',
  'paused resuming',
  'paused hibernating',
  'paused stopping',
  'paused stopped',
  'paused failed',
  'paused deleting',
  'resuming running',
  'resuming paused',
  'resuming stopped',
  'resuming failed',
  'resuming deleting',
  'hibernating hibernated',
  'hibernating running',
  'hibernating paused',
  'hibernating stopped',
  'hibernating failed',
  'hibernating deleting',
  'hibernated waking',
  'hibernated stopping',
  'hibernated stopped',
  'hibernated deleting',
  'waking running',
  'waking hibernated',
  'waking stopped',
  'waking failed',
  'waking deleting',
  'stopping stopped',
  'stopping failed',
  'stopping deleting',
  'stopped deleting',
  'failed deleting',
  'deleting deleted',
])

describe('lifecycle', () => {
  it.each(pairs.filter(({ from, to }) => !LEGAL.has(`${from} ${to}`)))('refuses $from to $to', ({ from, to }) => {
    expect(canTransition(from, to)).toBe(false)
    expect(() => assertTransition(from, to)).toThrowError(
      expect.objectContaining({ code: 'invalid_state', context: { from, to } }),
    )
  })

  it.each(pairs.filter(({ from, to }) => LEGAL.has(`${from} ${to}`)))('allows $from to $to', ({ from, to }) => {
    expect(canTransition(from, to)).toBe(true)
    assertTransition(from, to)
  })

  it('has a way from every state to deleted, through deleting alone', () => {
    for (const state of SANDBOX_STATES.filter((name) => name !== 'deleted')) {
      expect(state === 'deleting' || canTransition(state, 'deleting')).toBe(true)
      expect(canTransition(state, 'deleted')).toBe(state === 'deleting')
    }
    expect(TRANSITIONS.deleted).toEqual([])
  })

  it('knows which states hold a machine and which belong to an operation', () => {
    expect(SANDBOX_STATES.filter(isTransient)).toEqual([
      'creating',
      'pausing',
      'resuming',
      'hibernating',
      'waking',
      'stopping',
      'deleting',
    ])
    expect(ALIVE_STATES.filter((state) => !MACHINE_STATES.includes(state))).toEqual(['hibernated'])
    expect(SANDBOX_STATES.filter((state) => !isAlive(state))).toEqual(['stopped', 'failed', 'deleted'])
  })
})
