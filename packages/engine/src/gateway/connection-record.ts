import { randomBytes } from 'node:crypto'
import { BOUNDS, type RecordEntry, type Recorder } from '@hearth/contract'
import type { Destination } from './gateway-connection.ts'
import type { Meter } from './guest-stream.ts'
import type { Refused } from './policy/compiled-policy.ts'

export type Protocol = Extract<RecordEntry, { kind: 'connection' }>['protocol']

/**
 * What the record says of one connection. A short one is one entry, at its end. One that stays is in it soon after it was made and each minute
 * in which something passed, so that a server that is killed takes no more with it than the last minute.
 */
export class ConnectionRecord implements Meter {
  readonly #recorder: Recorder
  readonly #destination: Destination
  readonly #startedAt = performance.now()
  #timer: NodeJS.Timeout
  /** What its entries have in common. Null while it has none. */
  #id: string | null = null
  #sentBytes = 0
  #receivedBytes = 0
  /** In all, when the record last heard of it. */
  #toldBytes = 0
  protocol: Protocol = 'tcp'

  constructor(recorder: Recorder, destination: Destination) {
    this.#recorder = recorder
    this.#destination = destination
    this.#timer = setTimeout(() => this.#opened(), BOUNDS.connectionOpenedMs).unref()
  }

  sent(bytes: number): void {
    this.#sentBytes += bytes
  }

  received(bytes: number): void {
    this.#receivedBytes += bytes
  }

  #opened(): void {
    this.#id = randomBytes(9).toString('base64url')
    this.#toldBytes = this.#sentBytes + this.#receivedBytes
    this.#recorder.add({ kind: 'opened', connection: this.#id, ...this.#facts() })
    this.#timer = setInterval(() => this.#progress(), BOUNDS.connectionProgressMs).unref()
  }

  #progress(): void {
    const bytes = this.#sentBytes + this.#receivedBytes
    if (this.#id === null || bytes === this.#toldBytes) return
    this.#toldBytes = bytes
    this.#recorder.add({ kind: 'progress', connection: this.#id, ...this.#facts() })
  }

  finish(refused: Refused | null, failure: string | null): void {
    clearTimeout(this.#timer)
    const { name, port, process } = this.#destination
    if (refused !== null) {
      const { refusal, message } = refused
      this.#recorder.add({ kind: 'refusal', process, name, port, refusal, message })
    }
    const id = this.#id === null ? {} : { connection: this.#id }
    this.#recorder.add({ kind: 'connection', ...id, ...this.#facts(), failure: refused?.message ?? failure })
  }

  #facts(): Omit<Extract<RecordEntry, { kind: 'opened' }>, 'kind' | 'connection'> {
    const { name, port, process, verdict } = this.#destination
    return {
      process,
      name,
      port,
      named: verdict.named,
      protocol: this.protocol,
      sentBytes: this.#sentBytes,
      receivedBytes: this.#receivedBytes,
      durationMs: performance.now() - this.#startedAt,
    }
  }
}
