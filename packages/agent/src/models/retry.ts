import { setTimeout as sleep } from 'node:timers/promises'
import { ModelFailure } from './model-failure.ts'

export interface RetryOptions {
  /** Calls in all, the first one too. Default 6. */
  readonly attempts?: number
  /** Before the second call; doubled each time. Default 2 s. */
  readonly firstDelayMs?: number
  /** Default 60 s. What the provider asks for may be longer, but not longer than `longestAskedMs`. */
  readonly longestDelayMs?: number
  /** A provider that asks for more is not waited for. Default 10 minutes. */
  readonly longestAskedMs?: number
}

const DEFAULTS = { attempts: 6, firstDelayMs: 2000, longestDelayMs: 60_000, longestAskedMs: 600_000 } as const
const JITTER = 0.25

/**
 * Calls again after failures that may pass. Only calls of a model come here: they have no effect until their reply was written down, so
 * that a repeated one repeats nothing.
 */
export async function withRetries<Result>(
  call: () => Promise<Result>,
  options: RetryOptions,
  signal: AbortSignal,
  failed: (failure: ModelFailure, delayMs: number | null) => Promise<void>,
  mayGoOn: (failure: ModelFailure) => boolean = () => true,
): Promise<Result> {
  const limits = { ...DEFAULTS, ...options }
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error
      const isLast = attempt >= limits.attempts || !mayGoOn(error)
      const delayMs = isLast ? null : delayAfter(error, attempt, limits)
      await failed(error, delayMs)
      if (delayMs === null) throw error
      await sleep(delayMs, undefined, { signal })
    }
  }
}

/** Null when another call makes no sense. */
export function delayAfter(
  failure: ModelFailure,
  attempt: number,
  limits: Required<RetryOptions>,
  random: () => number = Math.random,
): number | null {
  if (!failure.retryable) return null
  const backoff = Math.min(limits.firstDelayMs * 2 ** (attempt - 1), limits.longestDelayMs)
  const jittered = backoff * (1 + JITTER * (2 * random() - 1))
  if (failure.retryAfterMs === null) return jittered
  if (failure.retryAfterMs > limits.longestAskedMs) return null
  // Never earlier than asked; the jitter keeps many agents from coming back in the same instant.
  return failure.retryAfterMs + backoff * JITTER * random()
}
