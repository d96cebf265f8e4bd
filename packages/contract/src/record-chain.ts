import { createPublicKey, hash, verify } from 'node:crypto'
import type { EventView, RecordHead } from './api/record-wire.ts'
import { canonicalJson } from './canonical-json.ts'

/** What the first entry of a sandbox follows. */
export const CHAIN_START = '0'.repeat(64)

/** What comes before the 32 bytes of a public key of Ed25519 in its usual form. */
const PUBLIC_KEY_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

/** The hash of an entry: of the one before it and of everything that the entry says. Nothing before it can be changed without changing it. */
export function chainHash(previous: string, entry: Omit<EventView, 'hash'>): string {
  const { at, data, sandbox, seq, type } = entry
  return hash('sha256', `${previous}\n${canonicalJson({ at, data, sandbox, seq, type })}`)
}

/** What is signed of a chain: whose it is, how long, and its last entry. */
export function headText(head: Pick<RecordHead, 'sandbox' | 'length' | 'seq' | 'hash'>): string {
  const { sandbox, length, seq } = head
  return canonicalJson({ hash: head.hash, length, sandbox, seq })
}

/** Whether the head is signed with this key, 32 bytes in hex. */
export function headIsSigned(head: RecordHead, publicKey: string): boolean {
  if (head.signature === null || !/^[0-9a-f]{64}$/.test(publicKey)) return false
  const der = Buffer.concat([PUBLIC_KEY_PREFIX, Buffer.from(publicKey, 'hex')])
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
  return verify(null, Buffer.from(headText(head)), key, Buffer.from(head.signature, 'base64'))
}

/** Follows the entries of one sandbox in their order and says where they are not as they were written. */
export class ChainReader {
  readonly #sandbox: string
  #last: string
  #seq = 0
  #entries = 0
  #unchained = 0
  #problem: string | null = null

  /** `after`: the hash of the last entry that retention took. */
  constructor(sandbox: string, after: string | null) {
    this.#sandbox = sandbox
    this.#last = after ?? CHAIN_START
  }

  /** Entries that were read, and how many of them have no hash, as those from before there was a chain: nothing proves these. */
  get entries(): number {
    return this.#entries
  }

  get unchained(): number {
    return this.#unchained
  }

  add(entry: EventView): void {
    this.#entries++
    this.#problem ??= this.#problemOf(entry)
    this.#seq = entry.seq
    if (entry.hash === null) this.#unchained++
    else this.#last = entry.hash
  }

  #problemOf(entry: EventView): string | null {
    if (entry.sandbox !== this.#sandbox) return `entry ${entry.seq} is of another sandbox`
    if (entry.seq <= this.#seq) return `entry ${entry.seq} comes after entry ${this.#seq}`
    if (entry.hash === null) {
      return this.#unchained === this.#entries - 1 ? null : `entry ${entry.seq} has no hash`
    }
    if (chainHash(this.#last, entry) === entry.hash) return null
    return `entry ${entry.seq} is not what was written, or one before it is missing`
  }

  /** The first thing that is wrong; null when everything is as it was written. `dropped`: how many entries of the chain retention took. */
  finish(head: RecordHead, dropped: number): string | null {
    if (this.#problem !== null) return this.#problem
    if (head.sandbox !== this.#sandbox) return 'the head is that of another sandbox'
    if (head.hash !== this.#last) return 'the last entries are missing'
    const length = this.#entries - this.#unchained + dropped
    if (head.length !== length) {
      return `there are ${length} entries with those that were dropped, and the head counts ${head.length}`
    }
    return null
  }
}
