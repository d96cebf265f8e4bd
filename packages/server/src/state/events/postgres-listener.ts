import { Client } from 'pg'
import { EVENT_CHANNEL } from './write-events.ts'

const FIRST_RETRY_MS = 250
const LONGEST_RETRY_MS = 30_000

export interface ListenerOptions {
  readonly url: string
  /** With what the message says. */
  readonly onEvent: (payload: string) => void
  /** Told of each broken connection. Followers poll meanwhile, so nothing is missed. */
  readonly onError?: (error: Error) => void
}

/** One connection that only listens. When it breaks it is made anew, later each time that fails. */
export class PostgresListener {
  readonly #options: ListenerOptions
  #client: Client | null = null
  #timer: NodeJS.Timeout | null = null
  #retryMs = FIRST_RETRY_MS
  #closed = false

  constructor(options: ListenerOptions) {
    this.#options = options
  }

  /** Resolves when it listens, or after the first failure: it then goes on trying. */
  async start(): Promise<void> {
    const client = new Client({
      connectionString: this.#options.url,
      keepAlive: true,
      application_name: 'hearth-events',
    })
    this.#client = client
    client.on('notification', ({ payload }) => this.#options.onEvent(payload ?? ''))
    client.on('error', (error) => this.#lost(client, error))
    client.on('end', () => this.#lost(client, new Error('the connection for notifications ended')))
    try {
      await client.connect()
      await client.query(`listen ${EVENT_CHANNEL}`)
      this.#retryMs = FIRST_RETRY_MS
      // What was told while nobody listened.
      this.#options.onEvent('')
    } catch (error) {
      this.#lost(client, error instanceof Error ? error : new Error(String(error)))
    }
  }

  #lost(client: Client, error: Error): void {
    if (this.#closed || this.#client !== client) return
    this.#client = null
    this.#options.onError?.(error)
    client.end().catch((reason: Error) => this.#options.onError?.(reason))
    this.#timer = setTimeout(() => void this.start(), this.#retryMs)
    this.#timer.unref()
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS)
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#client?.end()
  }
}
