import { BOUNDS, type Budgets } from '@hearth/contract'
import type { Refused } from './policy/compiled-policy.ts'

/** What was used of the network, and stays used for as long as the sandbox is there. */
export interface NetworkUse {
  readonly sentBytes: number
  readonly receivedBytes: number
  readonly connections: number
}

const NOTHING: NetworkUse = { sentBytes: 0, receivedBytes: 0, connections: 0 }

/** What one sandbox has used of the network so far. */
export class Budget {
  #sentBytes: number
  #receivedBytes: number
  #connections: number
  #open = 0

  /** `before`: in its earlier lives, or by the sandbox that it is a copy of. */
  constructor(before: NetworkUse = NOTHING) {
    this.#sentBytes = before.sentBytes
    this.#receivedBytes = before.receivedBytes
    this.#connections = before.connections
  }

  get used(): NetworkUse {
    return { sentBytes: this.#sentBytes, receivedBytes: this.#receivedBytes, connections: this.#connections }
  }

  /** Counts a connection in; or says why there may be no other one. */
  begin(limits: Budgets): Refused | null {
    const concurrent = Math.min(limits.concurrent ?? Infinity, BOUNDS.gatewayConnections)
    if (this.#connections >= (limits.connections ?? Infinity)) return exhausted('connections', limits.connections)
    if (this.#open >= concurrent) return exhausted('connections at one time', concurrent)
    const spent = this.spent(limits)
    if (spent !== null) return spent
    this.#connections++
    this.#open++
    return null
  }

  end(): void {
    this.#open--
  }

  sent(bytes: number): void {
    this.#sentBytes += bytes
  }

  received(bytes: number): void {
    this.#receivedBytes += bytes
  }

  /** Whether more bytes have passed than may. */
  spent(limits: Budgets): Refused | null {
    if (this.#sentBytes > (limits.sentBytes ?? Infinity)) return exhausted('bytes to send', limits.sentBytes)
    if (this.#receivedBytes > (limits.receivedBytes ?? Infinity))
      return exhausted('bytes to receive', limits.receivedBytes)
    return null
  }
}

function exhausted(what: string, limit: number | undefined): Refused {
  return {
    allowed: false,
    refusal: 'budget_exhausted',
    message: `the policy allows ${limit} ${what}, and they are used up`,
  }
}
