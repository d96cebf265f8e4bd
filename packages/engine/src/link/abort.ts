import { HearthError } from '@hearth/contract'

/** The error of a call whose caller gave up. */
export function abortError(signal: AbortSignal): HearthError {
  return new HearthError('aborted', 'the caller gave up', { cause: signal.reason })
}

/** Throws when the caller has given up already. */
export function assertNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortError(signal)
}

/** Calls `handler` when the signal fires; the result takes that back. */
export function onAbort(signal: AbortSignal | undefined, handler: (error: HearthError) => void): () => void {
  if (signal === undefined) return () => {}
  const listener = (): void => handler(abortError(signal))
  signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}
