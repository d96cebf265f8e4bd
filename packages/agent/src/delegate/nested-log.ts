import { HearthError, type AgentEvent } from '@hearth/contract'
import type { EventLog } from '../events/event-log.ts'
import { LogFull, type Recorder } from '../loop/recorder.ts'

/** A sub-agent is written down in the log of the run that it works for. It is never taken up again: it ends with that run's process. */
export class NestedLog implements EventLog {
  readonly #recorder: Recorder
  readonly #call: string
  readonly #run: string

  constructor(recorder: Recorder, call: string, run: string) {
    this.#recorder = recorder
    this.#call = call
    this.#run = run
  }

  async append(event: AgentEvent): Promise<void> {
    const [runs, happened] =
      event.type === 'sub_agent' ? [[this.#run, ...event.runs], event.event] : [[this.#run], withoutReplay(event)]
    try {
      await this.#recorder.record({ type: 'sub_agent', call: this.#call, runs, event: happened })
    } catch (error) {
      if (error instanceof LogFull) throw new HearthError('run_full', error.message, { cause: error })
      throw error
    }
  }

  read(): Promise<readonly AgentEvent[]> {
    return Promise.resolve([])
  }
}

/** What only the provider could use again. */
function withoutReplay<Event extends AgentEvent>(event: Event): Event {
  if (event.type !== 'model_replied') return event
  const { replay: _replay, ...rest } = event
  return rest as Event
}
