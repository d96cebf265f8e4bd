import { abortError, type HearthError } from '../hearth-error.ts'

/**
 * Everything that can end one request: its caller's signal, its time, or whoever reads the answer. The reason of `signal` is
 * always an error of Hearth.
 */
export class Cancellation {
  readonly #controller = new AbortController()
  readonly #caller: AbortSignal | undefined
  readonly #onAbort = (): void => {
    if (this.#caller !== undefined) this.cancel(abortError(this.#caller))
  }
  #timer: ReturnType<typeof setTimeout> | null = null

  constructor(caller: AbortSignal | undefined) {
    this.#caller = caller
    if (caller?.aborted === true) this.#onAbort()
    else caller?.addEventListener('abort', this.#onAbort, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Cancels after this time, unless `inTime` is called before. */
  limit(milliseconds: number, error: () => HearthError): void {
    this.inTime()
    this.#timer = setTimeout(() => this.cancel(error()), milliseconds)
  }

  inTime(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  cancel(reason: HearthError): void {
    this.#controller.abort(reason)
    this.release()
  }

  /** The request is over: the caller's signal, which may live much longer, is let go. */
  release(): void {
    this.inTime()
    this.#caller?.removeEventListener('abort', this.#onAbort)
  }
}

/** Waits, or throws when it is cancelled. It is used up by that. */
export async function pause(milliseconds: number, cancellation: Cancellation): Promise<void> {
  const { signal } = cancellation
  let timer: ReturnType<typeof setTimeout> | null = null
  try {
    await new Promise<void>((resolve, reject: (error: Error) => void) => {
      const onAbort = (): void => reject(signal.reason as Error)
      if (signal.aborted) return onAbort()
      signal.addEventListener('abort', onAbort, { once: true })
      timer = setTimeout(resolve, milliseconds)
    })
  } finally {
    if (timer !== null) clearTimeout(timer)
    cancellation.release()
  }
}
