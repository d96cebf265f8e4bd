import { describe, expect, it } from 'vitest'
import { TokenBuckets } from './token-bucket.ts'

describe('token buckets', () => {
  it('gives a burst, then the rate, for each name alone', () => {
    let now = 0
    const buckets = new TokenBuckets(10, 3, () => now)
    expect([1, 2, 3].map(() => buckets.take('a'))).toEqual([0, 0, 0])
    expect(buckets.take('a')).toBe(100)
    expect(buckets.take('b')).toBe(0)
    now = 99
    expect(buckets.take('a')).toBeGreaterThan(0)
    now = 101
    expect(buckets.take('a')).toBe(0)
    now = 1e6
    expect([1, 2, 3, 4].map(() => buckets.take('a') === 0)).toEqual([true, true, true, false])
  })

  it('looks without taking', () => {
    const buckets = new TokenBuckets(1, 1, () => 0)
    expect([buckets.wait('a'), buckets.wait('a'), buckets.take('a'), buckets.wait('a')]).toEqual([0, 0, 0, 1000])
  })

  it('does not grow with the number of names', () => {
    let now = 0
    const buckets = new TokenBuckets(1, 1, () => now)
    for (let index = 0; index < 50_000; index++) {
      now += 0.001
      buckets.take(`name ${index}`)
    }
    // One that was seen just now is still held to its rate.
    expect(buckets.take('name 49999')).toBeGreaterThan(0)
  })
})
