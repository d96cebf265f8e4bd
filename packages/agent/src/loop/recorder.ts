import { HearthError, type AgentEvent, type AgentEventBody } from '@hearth/contract'
import type { EventLog } from '../events/event-log.ts'
import { RunState } from './run-state.ts'

/** The run cannot be written down any more, so that nothing more may be done. */
export class LogFailure extends Error {
  override readonly name = 'LogFailure'
}

/** The log takes nothing more but the end of the run. */
export class LogFull extends Error {
  override readonly name = 'LogFull'
}

/** Writes events down one after the other, and only then lets them count. */
export class Recorder {
  readonly state = new RunState()
  readonly log: EventLog
  readonly #told: (event: AgentEvent) => void
  #turn: Promise<unknown> = Promise.resolve()
  #failure: LogFailure | null = null

  constructor(log: EventLog, told: (event: AgentEvent) => void) {
    this.log = log
    this.#told = told
  }

  /** Takes in what was written down before. */
  async replay(): Promise<void> {
    for (const event of await this.log.read()) this.state.apply(event)
  }

  async record(body: AgentEventBody): Promise<void> {
    const done = this.#turn.then(async () => {
      const event: AgentEvent = { ...body, seq: this.state.next, at: Date.now() }
      if (this.#failure !== null) throw this.#failure
      await this.log.append(event).catch((error: unknown) => {
        if (HearthError.isInstance(error) && error.code === 'run_full') {
          throw new LogFull(error.message, { cause: error })
        }
        this.#failure = new LogFailure(`the run cannot be written down: ${String(error)}`, { cause: error })
        throw this.#failure
      })
      this.state.apply(event)
      this.#told(event)
    })
    // A failure is thrown to who asked, and to everybody who asks later.
    this.#turn = done.catch(() => undefined)
    await done
  }
}
