import { HearthError } from '@hearth/sdk'

/** Clients give up after a minute. */
const PATIENCE_MS = 45_000

export interface Waiting {
  /** Of the call: ends the work while it is waited for. */
  readonly signal: AbortSignal
  /** What to do when it takes longer. */
  readonly suggestion: string
  /** Default: as long as clients wait. */
  readonly patienceMs: number | undefined
}

/** A sandbox, unless it takes longer than a client waits: it goes on being made then, and the answer says so. */
export async function patiently<T>(
  make: (signal: AbortSignal) => Promise<T>,
  { signal, suggestion, patienceMs = PATIENCE_MS }: Waiting,
): Promise<T> {
  signal.throwIfAborted()
  const stop = new AbortController()
  const cancel = (): void => stop.abort(signal.reason)
  signal.addEventListener('abort', cancel, { once: true })
  const { promise, reject } = Promise.withResolvers<never>()
  const late = (): void => reject(new HearthError('timeout', 'the sandbox is still being made', { suggestion }))
  const timer = setTimeout(late, patienceMs)
  try {
    return await Promise.race([make(stop.signal), promise])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', cancel)
  }
}
