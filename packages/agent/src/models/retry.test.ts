import { describe, expect, it } from 'vitest'
import { ModelFailure } from './model-failure.ts'
import { costOf, priceOf } from './prices.ts'
import { delayAfter, withRetries } from './retry.ts'

const LIMITS = { attempts: 6, firstDelayMs: 1000, longestDelayMs: 5000, longestAskedMs: 60_000 }

describe('the time until the next call', () => {
  const failed = (retryAfterMs: number | null): ModelFailure => new ModelFailure('rate_limited', '', { retryAfterMs })

  it('doubles up to a limit, with a quarter of jitter', () => {
    const delays = [1, 2, 3, 4, 9].map((attempt) => delayAfter(failed(null), attempt, LIMITS, () => 0.5))
    expect(delays).toEqual([1000, 2000, 4000, 5000, 5000])
    expect(delayAfter(failed(null), 1, LIMITS, () => 0)).toBe(750)
    expect(delayAfter(failed(null), 1, LIMITS, () => 1)).toBe(1250)
  })

  it('is never shorter than asked for, and nobody waits for ever', () => {
    expect(delayAfter(failed(30_000), 1, LIMITS, () => 0)).toBe(30_000)
    expect(delayAfter(failed(60_001), 1, LIMITS)).toBeNull()
    expect(delayAfter(new ModelFailure('refused', ''), 1, LIMITS)).toBeNull()
  })

  it('is cut short by a stop', async () => {
    const stop = new AbortController()
    const calls = withRetries(
      () => Promise.reject(failed(50_000)),
      LIMITS,
      stop.signal,
      () => {
        stop.abort(new Error('enough'))
        return Promise.resolve()
      },
    )
    await expect(calls).rejects.toThrow('The operation was aborted')
  })
})

describe('prices', () => {
  it('are those of the name, whatever its date, and can be overridden', () => {
    expect(priceOf('openai:gpt-5-mini-2025-08-07', {})?.input).toBe(0.25)
    expect(priceOf('anthropic:claude-sonnet-4-5-20250929', {})?.input).toBe(3)
    expect(priceOf('scripted:any.json', {})).toEqual({ input: 0, output: 0 })
    expect(priceOf('openai:gpt-5', { 'openai:gpt-5': { input: 1, output: 2 } })).toEqual({ input: 1, output: 2 })
    expect(priceOf('openai-compatible:http://x#y', {})).toBeNull()
    // Ten times as dear as the one that it is named after.
    expect(priceOf('openai:gpt-5-pro', {})).toBeNull()
    expect(priceOf('openai:constructor', {})).toBeNull()
  })

  it('count what a cache gave and took', () => {
    const usage = {
      inputTokens: 1_000_000,
      cachedInputTokens: 500_000,
      cacheWriteTokens: 100_000,
      outputTokens: 100_000,
    }
    expect(costOf(usage, { input: 10, output: 20, cachedInput: 1, cacheWrite: 12 })).toBeCloseTo(4 + 0.5 + 1.2 + 2)
    expect(costOf(usage, { input: 10, output: 20 })).toBeCloseTo(12)
  })
})
