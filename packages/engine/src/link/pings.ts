import { HearthError } from '@hearth/contract'
import { decode } from './dispatch.ts'
import { WireError } from './wire.ts'

interface Ping {
  readonly answered: PromiseWithResolvers<number>
  readonly sentAt: number
  readonly timer: NodeJS.Timeout
}

/** Pings under way, by token. */
export class Pings {
  readonly #send: (token: bigint) => void
  readonly #pending = new Map<bigint, Ping>()
  /** Tokens up to this one that are not pending were given up: their Pong may still come, once each. */
  readonly #late = new Set<bigint>()
  #lastToken = 0n

  constructor(send: (token: bigint) => void) {
    this.#send = send
  }

  send(timeoutMs: number): Promise<number> {
    const token = ++this.#lastToken
    const answered = Promise.withResolvers<number>()
    const timer = setTimeout(() => {
      this.#pending.delete(token)
      this.#late.add(token)
      answered.reject(new HearthError('timeout', `the guest did not answer a ping within ${timeoutMs} ms`))
    }, timeoutMs).unref()
    this.#pending.set(token, { answered, sentAt: performance.now(), timer })
    this.#send(token)
    return answered.promise
  }

  received(payload: Buffer): void {
    const { token } = decode('Pong', payload)
    const ping = this.#pending.get(token)
    if (ping === undefined) {
      if (!this.#late.delete(token)) throw new WireError('a Pong that nothing asked for')
      return
    }
    this.#pending.delete(token)
    clearTimeout(ping.timer)
    ping.answered.resolve(performance.now() - ping.sentAt)
  }

  fail(error: HearthError): void {
    for (const ping of this.#pending.values()) {
      clearTimeout(ping.timer)
      ping.answered.reject(error)
    }
    this.#pending.clear()
  }
}
