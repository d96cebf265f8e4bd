import { describe, expect, test } from 'vitest'
import { median, percentile, rowOf } from './row.ts'

describe('statistics of samples', () => {
  test('are nearest ranks', () => {
    expect(median([3, 1, 2])).toBe(2)
    expect(percentile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 99)).toBe(10)
    expect(percentile([5], 99)).toBe(5)
  })

  test('a ratio is taken against the first floor', () => {
    const base = {
      rung: 'process',
      metric: 'm',
      unit: 'ms',
      samples: [10, 12, 11],
      target: { kind: 'ratio', value: 1.5 },
    } as const
    const row = rowOf({ ...base, floors: [{ name: 'f', samples: [10, 10, 10] }] })
    expect(row).toMatchObject({ median: 11, ratio: 1.1, pass: true })
    expect(rowOf({ ...base, floors: [{ name: 'f', samples: [5] }] }).pass).toBe(false)
    expect(rowOf({ ...base, floors: [] }).pass).toBeNull()
  })

  test('what is added to the first floor is a difference', () => {
    const base = { rung: 'process', metric: 'm', unit: 'ms', samples: [10, 12, 11] } as const
    const over = (value: number) =>
      rowOf({ ...base, floors: [{ name: 'f', samples: [8] }], target: { kind: 'added', value } }).pass
    expect([over(3), over(2)]).toEqual([true, false])
    expect(rowOf({ ...base, floors: [], target: { kind: 'added', value: 1 } }).pass).toBeNull()
  })
})
