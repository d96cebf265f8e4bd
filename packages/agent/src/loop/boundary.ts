import { HearthError } from '@hearth/contract'

/** Where a run stands still: between two moves, when what was written down and what the sandbox is are the same. */
export class Boundary implements Disposable {
  #waiting: (() => Promise<void>)[] = []
  #over = false

  /** Does something at the next one. Rejects when there is none any more. */
  async at<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#over) throw ended()
    return await new Promise<Result>((resolve, reject) => {
      this.#waiting.push(async () => {
        if (this.#over) reject(ended())
        else await work().then(resolve, reject)
      })
    })
  }

  /** Called by the run when it stands at one. */
  async pass(): Promise<void> {
    for (;;) {
      const work = this.#waiting.shift()
      if (work === undefined) return
      await work()
    }
  }

  [Symbol.dispose](): void {
    this.#over = true
    for (const work of this.#waiting) void work()
    this.#waiting = []
  }
}

function ended(): HearthError {
  return new HearthError('invalid_state', 'the run has ended')
}
