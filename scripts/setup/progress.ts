/** Tells people what the scripts do: one line per step, rewritten in place while it runs on a terminal. */
export class Steps {
  readonly #terminal: boolean
  readonly #quiet: boolean

  /** `quiet`: problems alone. */
  constructor(quiet = false) {
    this.#quiet = quiet
    this.#terminal = process.stderr.isTTY && !quiet
  }

  /** Runs one step; its line ends with what `work` returns, or with how long it took. */
  async step<Result>(title: string, work: (detail: (text: string) => void) => Promise<Result>): Promise<Result> {
    const started = performance.now()
    if (!this.#terminal && !this.#quiet) this.line(`• ${title}`)
    let detail = ''
    const draw = (): void => {
      const seconds = Math.floor((performance.now() - started) / 1000)
      const text = `• ${title}${detail === '' ? '' : `: ${detail}`}${seconds > 0 ? ` (${seconds} s)` : ''}`
      process.stderr.write(`\r\u001b[K${text.slice(0, (process.stderr.columns ?? 80) - 1)}`)
    }
    const timer = this.#terminal ? setInterval(draw, 200) : null
    if (this.#terminal) draw()
    try {
      return await work((text) => {
        detail = text
      })
    } finally {
      if (timer !== null) {
        clearInterval(timer)
        process.stderr.write('\r\u001b[K')
      }
    }
  }

  done(text: string): void {
    if (!this.#quiet) this.line(`✓ ${text}`)
  }

  problem(text: string): void {
    this.line(`! ${text}`)
  }

  line(text: string): void {
    process.stderr.write(`${text}\n`)
  }
}
