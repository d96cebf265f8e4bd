import { stat } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'

/** How often what was written is brought from the journal into the database. */
const ROUND_MS = 5000

/**
 * Brings the journal (WAL) into the database from a thread of its own. SQLite would do it within whichever commit makes the journal
 * large, and that commit, with everything else that this process does, would wait until the disk has it.
 */
export class SqliteCheckpoints {
  readonly #path: string
  readonly #onError: (error: Error) => void
  readonly #timer: NodeJS.Timeout
  #worker: Worker | null = null
  #writtenAt = 0

  constructor(path: string, onError: (error: Error) => void, roundMs = ROUND_MS) {
    this.#path = path
    this.#onError = onError
    this.#timer = setInterval(() => void this.#round(), roundMs).unref()
  }

  async #round(): Promise<void> {
    try {
      await this.#tell()
    } catch (error) {
      this.#onError(error instanceof Error ? error : new Error(String(error)))
    }
  }

  async #tell(): Promise<void> {
    const journal = await stat(`${this.#path}-wal`).catch(() => null)
    if (journal === null || journal.mtimeMs === this.#writtenAt) return
    this.#writtenAt = journal.mtimeMs
    this.#worker ??= this.#start()
    this.#worker.postMessage(null)
  }

  /** Without one the commits do it themselves, later: see `wal_autocheckpoint`. The next round starts another. */
  #start(): Worker {
    const worker = new Worker(new URL('./sqlite-checkpoint-worker.ts', import.meta.url), { workerData: this.#path })
    worker.unref()
    worker.on('error', (error) => {
      this.#worker = null
      this.#onError(error)
    })
    return worker
  }

  stop(): void {
    clearInterval(this.#timer)
    void this.#worker?.terminate()
  }
}
