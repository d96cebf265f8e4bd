import { itemsOf } from '../checks.ts'
import { eventPage, followEvents } from '../events.ts'
import { HearthError } from '../hearth-error.ts'
import { Cancellation, pause } from '../transport/cancellation.ts'
import type { Connection } from './sandbox-client.ts'

/** What is quicker is not worth asking about. */
const QUIET_MS = 1000
const MOST_CREATING = 100

/** Follows what the server says about a create that takes long. It is told for people: when it cannot be had, the create is not concerned. */
export class CreateProgress {
  readonly #connection: Connection
  readonly #requestId: string
  readonly #onProgress: (line: string) => void
  readonly #cancellation = new Cancellation(undefined)

  constructor(connection: Connection, requestId: string, onProgress: (line: string) => void) {
    this.#connection = connection
    this.#requestId = requestId
    this.#onProgress = onProgress
    this.#follow().catch(() => undefined)
  }

  stop(): void {
    this.#cancellation.cancel(new HearthError('aborted', 'the create has ended'))
    this.#cancellation.release()
  }

  async #follow(): Promise<void> {
    const { signal } = this.#cancellation
    for (let begun = null; begun === null;) {
      await pause(QUIET_MS, new Cancellation(signal))
      begun = await this.#begun()
      if (begun === null) continue
      for await (const { type, data } of followEvents(this.#connection, { ...begun, signal })) {
        if (type === 'sandbox.progress' && typeof data['line'] === 'string') this.#onProgress(data['line'])
      }
    }
  }

  /** The sandbox of this request, and where its events go on. */
  async #begun(): Promise<{ sandbox: string; after: number } | null> {
    const { http } = this.#connection
    const { signal } = this.#cancellation
    const query = { state: 'creating', limit: MOST_CREATING }
    const creating = itemsOf<{ id: string }>(await http.json({ method: 'GET', path: '/sandboxes', query, signal }))
    for (const { id: sandbox } of creating) {
      const { items } = await eventPage(http, { sandbox, after: 0, limit: 1, signal })
      const first = items[0]
      if (first?.data['request'] === this.#requestId) return { sandbox, after: first.seq }
    }
    return null
  }
}
