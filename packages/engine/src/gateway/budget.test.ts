import { expect, test } from 'vitest'
import { Budget } from './budget.ts'

const NOTHING = { sentBytes: 0, receivedBytes: 0, connections: 0 }

test('what was used before is used', () => {
  const limits = { sentBytes: 10, receivedBytes: 10, connections: 2 }
  for (const used of [{ sentBytes: 11 }, { receivedBytes: 11 }, { connections: 2 }]) {
    const budget = new Budget({ ...NOTHING, ...used })
    expect(budget.begin(limits)).toMatchObject({ refusal: 'budget_exhausted' })
    expect(budget.used).toEqual({ ...NOTHING, ...used })
  }
})

test('what is used is counted on, and connections that were open are not', () => {
  const budget = new Budget({ sentBytes: 5, receivedBytes: 5, connections: 1 })
  expect(budget.begin({ concurrent: 1, connections: 2 })).toBeNull()
  budget.sent(1)
  budget.received(2)
  expect(budget.used).toEqual({ sentBytes: 6, receivedBytes: 7, connections: 2 })
})
