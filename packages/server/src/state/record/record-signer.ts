import { sign, type KeyObject } from 'node:crypto'
import { headIsSigned, headText, type RecordHead } from '@hearth/contract'

/** Heads that are remembered, so that each is verified once in the life of a server. */
const MOST_REMEMBERED = 10_000

/** Signs the ends of chains, and knows those that it has signed. */
export class RecordSigner {
  /** 32 bytes in hex. */
  readonly publicKey: string
  readonly #key: KeyObject
  readonly #written = new Map<string, RecordHead>()

  constructor(key: KeyObject, publicKey: string) {
    this.#key = key
    this.publicKey = publicKey
  }

  signed(head: Pick<RecordHead, 'sandbox' | 'length' | 'seq' | 'hash'>): RecordHead {
    const signature = sign(null, Buffer.from(headText(head)), this.#key).toString('base64')
    return { ...head, signature, publicKey: this.publicKey }
  }

  /** Whether a head that was read is one that this key has signed, and not one from before the last that is known. */
  knows(head: RecordHead): boolean {
    const last = this.#written.get(head.sandbox)
    if (last !== undefined && headText(last) === headText(head) && last.signature === head.signature) return true
    if (last !== undefined && head.length <= last.length) return false
    return head.publicKey === this.publicKey && headIsSigned(head, this.publicKey)
  }

  /** After the commit: what was undone was never written. */
  written(heads: readonly RecordHead[]): void {
    for (const head of heads) {
      this.#written.delete(head.sandbox)
      this.#written.set(head.sandbox, head)
      if (this.#written.size <= MOST_REMEMBERED) continue
      const [oldest] = this.#written.keys()
      if (oldest !== undefined) this.#written.delete(oldest)
    }
  }
}
