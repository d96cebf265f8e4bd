import type { ServerResponse } from 'node:http'
import type { HearthError } from '@hearth/contract'
import { ResponseWriter } from '../../../http/streams/response-writer.ts'
import type { Codec } from './codec.ts'
import { connectError } from './codes.ts'
import { frame, FRAME } from './frames.ts'
import type { Draft, MessageName } from './messages.ts'

/** Longer waits than this for a sign of life are not granted. */
const LONGEST_SILENCE_S = 90

/** The answer of a streaming call: messages at the client's pace, then one frame that says how it ended. */
export class RpcStream<Name extends MessageName> {
  readonly #outgoing: ServerResponse
  readonly #writer: ResponseWriter
  readonly #codec: Codec
  readonly #name: Name
  readonly #keepalives: NodeJS.Timeout

  constructor(
    outgoing: ServerResponse,
    codec: Codec,
    answer: {
      readonly name: Name
      readonly keepalive: Draft<Name>
      readonly writeIdleMs: number
      /** What the client asks for as its longest silence, in seconds. */
      readonly pingInterval: string | undefined
    },
  ) {
    this.#outgoing = outgoing
    this.#codec = codec
    this.#name = answer.name
    this.#writer = new ResponseWriter(outgoing, answer.writeIdleMs)
    outgoing.writeHead(200, { 'content-type': `application/connect+${codec.name}`, 'cache-control': 'no-store' })
    const wanted = Number(answer.pingInterval)
    const seconds = wanted >= 1 && wanted <= LONGEST_SILENCE_S ? wanted : LONGEST_SILENCE_S
    this.#keepalives = setInterval(() => this.#keepalive(answer.keepalive), seconds * 1000)
  }

  async send(message: Draft<Name>): Promise<void> {
    // The silence that the client allows begins anew.
    this.#keepalives.refresh()
    await this.#writer.write(frame(0, this.#codec.encode(this.#name, message)))
  }

  /** `failure`: what went wrong, null for nothing. */
  end(failure: HearthError | null): void {
    clearInterval(this.#keepalives)
    if (this.#outgoing.destroyed) return
    const end = failure === null ? {} : { error: connectError(failure) }
    this.#outgoing.end(frame(FRAME.end, Buffer.from(JSON.stringify(end))))
  }

  /** For a sandbox that ended meanwhile: clients take a stream that breaks off, and nothing else, as a sign of it. */
  reset(): void {
    clearInterval(this.#keepalives)
    this.#outgoing.destroy()
  }

  #keepalive(message: Draft<Name>): void {
    // A client that has not taken the last message needs no sign of life.
    if (!this.#writer.congested) void this.send(message).catch(() => {})
  }
}
