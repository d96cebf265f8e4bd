import { HearthError, type AgentEvent } from '@hearth/contract'

/** Where a run is written down. What was appended is durable when the promise resolves: only then does it take effect. */
export interface EventLog {
  /** Refused with `conflict` when `event.seq` is not the next one: somebody else has taken the run up. */
  append(event: AgentEvent): Promise<void>
  /** Everything so far, in order. */
  read(): Promise<readonly AgentEvent[]>
}

/** Lives as long as the process. */
export class MemoryEventLog implements EventLog {
  readonly #events: AgentEvent[] = []

  append(event: AgentEvent): Promise<void> {
    if (event.seq !== this.#events.length) return Promise.reject(outOfTurn(event, this.#events.length))
    this.#events.push(event)
    return Promise.resolve()
  }

  read(): Promise<readonly AgentEvent[]> {
    return Promise.resolve([...this.#events])
  }
}

export function outOfTurn(event: AgentEvent, next: number): HearthError {
  return new HearthError(
    'conflict',
    `event ${event.seq} of the run came when ${next} was next: somebody else goes on with it`,
  )
}
