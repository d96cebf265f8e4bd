const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
/** What is quicker than this is not worth telling. */
const QUIET_MS = 1000

/** Tells on standard error what takes long: a line that turns on a terminal, plain lines elsewhere, nothing when quiet. */
export class Progress implements Disposable {
  readonly #terminal = process.stderr.isTTY
  readonly #started = performance.now()
  readonly #timer: NodeJS.Timeout | null
  #line = ''
  #drawn = false

  constructor(quiet: boolean) {
    this.#timer = quiet || !this.#terminal ? null : setInterval(() => this.#draw(), 100).unref()
    this.say = quiet ? () => undefined : this.say.bind(this)
  }

  /** Whether anybody sees it turn. */
  get shown(): boolean {
    return this.#timer !== null
  }

  say(line: string): void {
    this.#line = line.trimEnd()
    if (!this.#terminal) process.stderr.write(`${this.#line}\n`)
  }

  /** Clears the turning line; nothing is drawn after it. */
  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    if (this.#drawn) process.stderr.write('\r\u001b[K')
    this.#drawn = false
  }

  [Symbol.dispose](): void {
    this.stop()
  }

  #draw(): void {
    const elapsed = performance.now() - this.#started
    if (elapsed < QUIET_MS || this.#line === '') return
    const frame = FRAMES[Math.floor(elapsed / 100) % FRAMES.length] ?? ''
    const text = `${frame} ${this.#line} (${Math.floor(elapsed / 1000)} s)`
    // Some terminals do not say how wide they are.
    const columns = process.stderr.columns || 80
    process.stderr.write(`\r\u001b[K${text.slice(0, Math.max(10, columns - 1))}`)
    this.#drawn = true
  }
}
