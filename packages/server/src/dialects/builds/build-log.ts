const MOST_ENTRIES = 10_000
const MOST_CHARACTERS = 4096

export interface LogEntry {
  readonly timestamp: string
  readonly level: 'info' | 'error'
  readonly message: string
}

/** What a build has said, for those who follow it. It is known to the server that carries it out, for as long as that runs. */
export class BuildLog {
  readonly entries: LogEntry[] = []
  #over = false
  #waiting: (() => void)[] = []

  say(message: string, level: LogEntry['level'] = 'info'): void {
    if (this.entries.length >= MOST_ENTRIES) return
    this.entries.push({ timestamp: new Date().toISOString(), level, message: message.slice(0, MOST_CHARACTERS) })
    this.#wake()
  }

  end(): void {
    this.#over = true
    this.#wake()
  }

  /** All that was said, and what is said until the build is over or the signal comes. */
  async *follow(signal: AbortSignal): AsyncGenerator<LogEntry, void> {
    for (let at = 0; !signal.aborted;) {
      const entry = this.entries[at]
      if (entry !== undefined) {
        at++
        yield entry
      } else if (this.#over) return
      else await this.#more(signal)
    }
  }

  async #more(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve)
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
