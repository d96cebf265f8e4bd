import type { ServerResponse } from 'node:http'
import { clientGone } from '../operation.ts'

/** Writes an answer as fast as its reader takes it and no faster. A reader that takes nothing for too long is let go. */
export class ResponseWriter {
  readonly #outgoing: ServerResponse
  readonly #idleMs: number

  constructor(outgoing: ServerResponse, idleMs: number) {
    this.#outgoing = outgoing
    this.#idleMs = idleMs
  }

  /** True when a further write would only be held in memory. */
  get congested(): boolean {
    return this.#outgoing.writableNeedDrain
  }

  async write(chunk: Uint8Array | string): Promise<void> {
    if (this.#outgoing.destroyed || this.#outgoing.closed) throw clientGone()
    if (!this.#outgoing.write(chunk)) await this.#drained()
  }

  end(): void {
    this.#outgoing.end()
  }

  /** For an answer that cannot be completed: the client must see that something is missing. */
  destroy(): void {
    this.#outgoing.destroy()
  }

  async #drained(): Promise<void> {
    const outgoing = this.#outgoing
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const gone = (): void => reject(clientGone())
    const timer = setTimeout(() => outgoing.destroy(), this.#idleMs)
    outgoing.once('drain', resolve)
    outgoing.once('close', gone)
    try {
      if (outgoing.closed) throw clientGone()
      await promise
    } finally {
      clearTimeout(timer)
      outgoing.off('drain', resolve)
      outgoing.off('close', gone)
    }
  }
}
