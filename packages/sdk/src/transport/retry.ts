import type { ErrorCode } from '@hearth/contract'
import { hasCode, type HearthError } from '../hearth-error.ts'

const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 5000
/** A server that asks for more patience than this gets it from the caller, not from us. */
const LONGEST_RETRY_AFTER_MS = 30_000

/** What passes by itself. Other retryable errors (a launch that failed, a timeout) need somebody who decides. */
const PASSING: readonly ErrorCode[] = [
  'link_lost',
  'rate_limited',
  'too_many',
  'host_full',
  'store_unavailable',
  'shutting_down',
]

/** Full jitter: many clients that failed together do not come back together. */
export function backoffMs(attempt: number, longestMs = LONGEST_DELAY_MS): number {
  return Math.random() * Math.min(longestMs, FIRST_DELAY_MS * 2 ** attempt)
}

export function isPassing(error: unknown): error is HearthError {
  return hasCode(error, ...PASSING) && error.retryable
}

/** How long to wait before the same request is sent again; null when it must not be. */
export function retryDelayMs(error: unknown, attempt: number, retries: number): number | null {
  if (attempt >= retries || !isPassing(error)) return null
  const asked = error.context['retryAfterMs']
  if (typeof asked !== 'number') return backoffMs(attempt)
  return asked > LONGEST_RETRY_AFTER_MS ? null : asked + backoffMs(attempt)
}
