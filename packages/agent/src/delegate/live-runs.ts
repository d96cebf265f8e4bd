import type { AgentResult } from '../loop/options.ts'

/** A sub-agent that works. */
export interface LiveRun {
  readonly result: Promise<AgentResult>
  pause(): Promise<void>
  resume(): void
  stop(detail: string): void
}

/** The sub-agents of a run that work now: what is told to the run reaches all of them, also those that begin later. */
export class LiveRuns {
  readonly #runs = new Set<LiveRun>()
  readonly #beginning = new Set<Promise<LiveRun>>()
  #gate: PromiseWithResolvers<void> | null = null

  /** Resolves when all stand still. */
  async pause(): Promise<void> {
    this.#gate ??= Promise.withResolvers()
    await Promise.allSettled(this.#beginning)
    await Promise.all([...this.#runs].map(async (run) => await run.pause()))
  }

  resume(): void {
    this.#gate?.resolve()
    this.#gate = null
    for (const run of this.#runs) run.resume()
  }

  /** Begins one, after a pause, and gives what comes of it. It is stopped with the run that it works for. */
  async live(begin: () => Promise<LiveRun>, signal: AbortSignal): Promise<AgentResult> {
    while (this.#gate !== null) await this.#gate.promise
    signal.throwIfAborted()
    const run = await this.#begin(begin)
    const stop = (): void => run.stop('the run that it works for was ended')
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    try {
      return await run.result
    } finally {
      signal.removeEventListener('abort', stop)
      this.#runs.delete(run)
    }
  }

  async #begin(begin: () => Promise<LiveRun>): Promise<LiveRun> {
    const beginning = begin().then((run) => {
      this.#runs.add(run)
      return run
    })
    this.#beginning.add(beginning)
    try {
      return await beginning
    } finally {
      this.#beginning.delete(beginning)
    }
  }
}
