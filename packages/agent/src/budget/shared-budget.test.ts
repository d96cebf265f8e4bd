import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SharedBudget, type Reservation } from './shared-budget.ts'

const LIMITS = { steps: 100, tokens: 1000, dollars: 10, wallTimeMs: 60_000 }
const never = new AbortController().signal

function taken(reservation: Reservation | string): Reservation {
  if (typeof reservation === 'string') throw new Error(reservation)
  return reservation
}

describe('a shared budget', () => {
  it('counts the steps, tokens and dollars of all', async () => {
    const budget = new SharedBudget(LIMITS, { steps: 5, tokens: 100, dollars: 1, wallTimeMs: 1000 })
    const one = taken(await budget.reserve({ tokens: 300, dollars: 2 }, never))
    const other = taken(await budget.reserve({ tokens: 300, dollars: 2 }, never))
    expect(budget.promised).toMatchObject({ steps: 7, tokens: 700, dollars: 5 })
    one.end({ tokens: 50, dollars: 0.5 })
    one.end({ tokens: 50, dollars: 0.5 })
    other[Symbol.dispose]()
    expect(budget.spent).toMatchObject({ steps: 7, tokens: 150, dollars: 1.5 })
    expect(budget.spent.wallTimeMs).toBeGreaterThanOrEqual(1000)
    expect(budget.remainingMs).toBeLessThanOrEqual(59_000)
  })

  it('lets a call wait that could be too much with those under way', async () => {
    const budget = new SharedBudget(LIMITS)
    const first = taken(await budget.reserve({ tokens: 900, dollars: 0 }, never))
    let second: Reservation | string | null = null
    const waiting = budget.reserve({ tokens: 900, dollars: 0 }, never).then((reservation) => (second = reservation))
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(second).toBeNull()
    first.end({ tokens: 1000, dollars: 0 })
    expect(await waiting).toBe('tokens')
    expect(await budget.reserve({ tokens: 1, dollars: 0 }, never)).toBe('tokens')
  })

  it('does not let a call wait that was stopped', async () => {
    const budget = new SharedBudget(LIMITS)
    await budget.reserve({ tokens: 900, dollars: 0 }, never)
    const abort = new AbortController()
    const waiting = budget.reserve({ tokens: 900, dollars: 0 }, abort.signal)
    abort.abort(new Error('stopped'))
    await expect(waiting).rejects.toThrow('stopped')
  })

  it('is exceeded by one call at the most, however many work at once', async () => {
    const call = fc.record({
      most: fc.integer({ min: 1, max: 400 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(call, { maxLength: 12 }), { maxLength: 6 }), async (workers) => {
        const budget = new SharedBudget({ ...LIMITS, steps: 20 })
        const work = async (calls: (typeof workers)[number]): Promise<void> => {
          for (const { most, share } of calls) {
            const reservation = await budget.reserve({ tokens: most, dollars: most / 100 }, never)
            if (typeof reservation === 'string') return
            await Promise.resolve()
            reservation.end({ tokens: Math.round(most * share), dollars: (most * share) / 100 })
          }
        }
        await Promise.all(workers.map(work))
        expect(budget.spent.steps).toBeLessThanOrEqual(20)
        expect(budget.spent.tokens).toBeLessThanOrEqual(LIMITS.tokens + 400)
        expect(budget.promised).toMatchObject({ tokens: budget.spent.tokens })
      }),
    )
  })
})

it('a part of another one is counted in it, and can use no more than it has left', async () => {
  const whole = new SharedBudget(LIMITS)
  const part = new SharedBudget({ ...LIMITS, steps: 100 }, undefined, whole)
  const signal = new AbortController().signal
  let made = 0
  for (;;) {
    const reserved = await part.reserve({ tokens: 1, dollars: 0 }, signal)
    if (typeof reserved === 'string') break
    reserved.end({ tokens: 10, dollars: 0.001 })
    made++
  }
  expect(whole.spent).toMatchObject({ steps: made, tokens: made * 10 })
  expect([whole.over, part.over]).toEqual([whole.over, whole.over])
  expect(part.chain).toEqual([part, whole])
})

it('counts no time while it stands still', async () => {
  const budget = new SharedBudget(LIMITS)
  budget.standStill()
  const { wallTimeMs } = budget.spent
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(budget.spent.wallTimeMs).toBe(wallTimeMs)
  budget.goOn()
  expect(budget.spent.wallTimeMs).toBeLessThan(wallTimeMs + 50)
})
