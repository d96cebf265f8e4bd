import { BOUNDS } from '@hearth/contract'
import { z } from 'zod'
import { inBackground, type OnProblem } from '../host/in-background.ts'

export const ttlSchema = z.int().min(1000).max(BOUNDS.maximumTtlMs)

/** Node's timers hold at most 2^31-1 milliseconds; longer waits are made of several. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Calls back at an absolute time, once, unless it is moved or cancelled. Does not keep the process alive. */
export class Deadline {
  readonly #expire: () => Promise<void>
  readonly #onProblem: OnProblem
  #timer: NodeJS.Timeout | undefined

  constructor(at: Date, expire: () => Promise<void>, onProblem: OnProblem) {
    this.#expire = expire
    this.#onProblem = onProblem
    this.move(at)
  }

  move(at: Date): void {
    clearTimeout(this.#timer)
    const remaining = at.getTime() - Date.now()
    const timer = setTimeout(
      () => {
        if (remaining > LONGEST_TIMER_MS) this.move(at)
        else void inBackground('ending a sandbox at its deadline', this.#expire, this.#onProblem)
      },
      Math.min(Math.max(0, remaining), LONGEST_TIMER_MS),
    )
    timer.unref()
    this.#timer = timer
  }

  cancel(): void {
    clearTimeout(this.#timer)
  }
}
