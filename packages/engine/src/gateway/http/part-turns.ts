import type { Readable } from 'node:stream'

export interface PartHandlers {
  /** How long the next part must wait. */
  waitMs(): number
  take(part: Buffer): void
  end(): void
}

/** Hands on the parts of a source, each when its turn has come, and then its end. */
export class PartTurns {
  readonly #source: Readable
  readonly #handlers: PartHandlers
  /** Of the part that waits. */
  #timer: NodeJS.Timeout | null = null
  #isOver = false
  #isStopped = false

  constructor(source: Readable, handlers: PartHandlers) {
    this.#source = source
    this.#handlers = handlers
  }

  /** The source has said all, though it may not have been handed on yet. */
  get isOver(): boolean {
    return this.#isOver
  }

  readonly onData = (part: Buffer): void => {
    const waitMs = this.#handlers.waitMs()
    if (waitMs === 0) return this.#handlers.take(part)
    this.#source.pause()
    this.#timer = setTimeout(() => this.#goOn(part), waitMs)
  }

  readonly onEnd = (): void => {
    this.#isOver = true
    if (this.#timer === null) this.#handlers.end()
  }

  /** More is wanted. */
  readonly resume = (): void => {
    if (this.#timer === null) this.#source.resume()
  }

  /** Nothing more is handed on. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#isStopped = true
  }

  #goOn(part: Buffer): void {
    this.#timer = null
    this.#source.resume()
    this.onData(part)
    if (this.#timer === null && this.#isOver && !this.#isStopped) this.#handlers.end()
  }
}
