import { describe, expect, it } from 'vitest'
import type { Spent } from '@hearth/contract'
import { budgetOf, exhausted, outputAllowance, reminderOf } from './budget.ts'

const LIMITS = { steps: 100, tokens: 1000, dollars: 10, wallTimeMs: 1000 }
const NOTHING: Spent = { steps: 0, tokens: 0, dollars: 0, wallTimeMs: 0 }

describe('a budget', () => {
  it.each([
    ['steps', { steps: 100 }],
    ['tokens', { tokens: 1000 }],
    ['cost', { dollars: 10 }],
    ['wall_time', { wallTimeMs: 1000 }],
  ])('ends at its %s', (part, spent) => {
    expect(exhausted(LIMITS, NOTHING)).toBeNull()
    expect(exhausted(LIMITS, { ...NOTHING, ...spent })).toBe(part)
  })

  it('in money may be nothing at all', () => {
    expect(exhausted({ ...LIMITS, dollars: 0 }, NOTHING)).toBeNull()
    expect(exhausted({ ...LIMITS, dollars: 0 }, { ...NOTHING, dollars: 0.01 })).toBe('cost')
    expect(exhausted({ ...LIMITS, dollars: null }, { ...NOTHING, dollars: 1000 })).toBeNull()
  })

  it('reminds once at each threshold, of the most urgent thing', () => {
    const said = new Set<string>()
    const abouts = [40, 50, 60, 80, 85, 96, 99].map((steps) => {
      const reminder = reminderOf(LIMITS, { ...NOTHING, steps }, said)
      if (reminder !== null) said.add(reminder.about)
      return reminder?.about ?? null
    })
    expect(abouts).toEqual([null, 'steps:0.5', null, 'steps:0.2', null, 'steps:0.05', null])
    expect(reminderOf(LIMITS, { ...NOTHING, steps: 99, tokens: 960 }, said)?.about).toBe('tokens:0.05')
  })

  it('asks for no reply that it cannot pay', () => {
    const price = { input: 1, output: 10 }
    expect(outputAllowance(LIMITS, { ...NOTHING, tokens: 500 }, price, 16_384)).toBe(500)
    expect(outputAllowance({ ...LIMITS, tokens: 1e9 }, { ...NOTHING, dollars: 9.5 }, price, 60_000)).toBe(50_000)
    expect(outputAllowance(LIMITS, { ...NOTHING, tokens: 999 }, price, 16_384)).toBe(256)
  })

  it('is refused when it means nothing', () => {
    expect(() => budgetOf({ dollars: 1 }, 'openai-compatible:x#y', {})).toThrow('there is no price')
    expect(() => budgetOf({ steps: 0 }, 'scripted:', {})).toThrow('budget.steps')
    expect(budgetOf({}, 'openai-compatible:x#y', {}).dollars).toBeNull()
    expect(budgetOf({}, 'scripted:', {}).dollars).toBe(5)
  })
})
