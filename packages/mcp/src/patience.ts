import { HearthError } from '@hearth/sdk'

/** Clients give up after a minute. */
export const PATIENCE_MS = 45_000
/** Of one session; the oldest is forgotten, and what it makes ends by its deadline. */
const MOST_UNFINISHED = 64

export interface Waiting {
  /** Of the call: ends the work while it is waited for. */
  readonly signal: AbortSignal
  /** What is still under way when it takes longer. */
  readonly what?: string
  /** What to do then. */
  readonly suggestion: string
  /** Default: as long as clients wait. */
  readonly patienceMs: number | undefined
}

interface Work<T> {
  readonly done: Promise<T>
  readonly stop: AbortController
}

type Make<T> = (signal: AbortSignal) => Promise<T>

/** What a call makes, unless it takes longer than a client waits: it goes on being made then, and the answer says so. */
export async function patiently<T>(make: Make<T>, waiting: Waiting): Promise<T> {
  const { late, value } = await waitFor(begin(make, waiting), waiting)
  if (late) throw stillUnderWay(waiting)
  return value
}

/** What calls of a session have begun and not waited for. The same call again waits for that, and makes nothing else. */
export class Unfinished {
  readonly #left = new Map<string, Work<unknown>>()

  /** `name`: the call with all that it asks for. Two of them at one time are two, unless one was left before. */
  async wait<T>(name: string, make: Make<T>, waiting: Waiting): Promise<T> {
    const work = (this.#left.get(name) as Work<T> | undefined) ?? begin(make, waiting)
    this.#left.delete(name)
    const { late, value } = await waitFor(work, waiting)
    if (!late) return value
    this.#left.set(name, work)
    const [oldest] = this.#left.keys()
    if (this.#left.size > MOST_UNFINISHED && oldest !== undefined) this.#left.delete(oldest)
    throw stillUnderWay({ ...waiting, suggestion: 'Make the same call again: it waits for what this one has begun.' })
  }
}

function begin<T>(make: Make<T>, { signal }: Waiting): Work<T> {
  signal.throwIfAborted()
  const stop = new AbortController()
  const done = make(stop.signal)
  // Nobody may be waiting when it fails.
  done.catch(() => undefined)
  return { done, stop }
}

type Waited<T> = { readonly late: false; readonly value: T } | { readonly late: true; readonly value?: never }

async function waitFor<T>({ done, stop }: Work<T>, { signal, patienceMs = PATIENCE_MS }: Waiting): Promise<Waited<T>> {
  const cancel = (): void => stop.abort(signal.reason)
  if (signal.aborted) cancel()
  signal.addEventListener('abort', cancel, { once: true })
  const { promise, resolve } = Promise.withResolvers<Waited<T>>()
  const timer = setTimeout(() => resolve({ late: true }), patienceMs)
  try {
    return await Promise.race([done.then((value) => ({ late: false, value }) as const), promise])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', cancel)
  }
}

function stillUnderWay({ what = 'the sandbox is still being made', suggestion }: Waiting): HearthError {
  return new HearthError('timeout', what, { suggestion })
}
