import type { EncodedForm } from './encoded-forms.ts'
import { begins, ESCAPE_BEGINNINGS, isLineBreak, isOfEscapes, LEVELS } from './escapes.ts'

const ORDINARY = 0
const ESCAPE = 1
const STOP = 2
const PRINTABLE = { from: 0x20, to: 0x7f }
/** So far it looks for the next escape itself; beyond, the runtime is faster. */
const GLANCE = 32

/**
 * Finds escapes and breaks that may be a part of a form. A text that holds one is made of characters of forms and of escapes alone: whatever else stands in
 * it, such as a space or a quote, rules out everything up to it, so that most bytes are never looked at.
 */
export class EscapeSearch {
  readonly #kinds = new Uint8Array(256).fill(STOP)
  readonly #within = new Uint8Array(256)
  readonly #shortest: number

  constructor(forms: readonly EncodedForm[]) {
    this.#shortest = Math.min(...forms.map(({ bytes }) => bytes.length))
    for (const { bytes } of forms) for (const byte of bytes) this.#within[byte] = 1
    for (let byte = PRINTABLE.from; byte < PRINTABLE.to; byte++) {
      if (this.#within[byte] === 1 || isOfEscapes(byte)) this.#kinds[byte] = ORDINARY
    }
    for (const byte of ESCAPE_BEGINNINGS) this.#kinds[byte] = ESCAPE
  }

  /** Calls back for each place where an escape could begin in such a text that is as long as the shortest form, and perhaps for others. */
  each(bytes: Buffer, found: (at: number) => void): void {
    const kinds = this.#kinds
    const shortest = this.#shortest
    const next = new NextEscape(bytes)
    let at = 0
    while (at + shortest <= bytes.length) {
      let probe = at + shortest - 1
      while (probe >= at && kinds[bytes[probe] as number] !== STOP) probe--
      at = probe >= at ? probe + 1 : this.#along(bytes, at, next, found)
    }
  }

  /** From within such a text; gives back from where on it is to be looked for the next one. */
  #along(bytes: Buffer, from: number, next: NextEscape, found: (at: number) => void): number {
    const kinds = this.#kinds
    let last = from
    const { length } = bytes
    for (let at = from; at < length; at++) {
      const kind = kinds[bytes[at] as number]
      if (kind === STOP) return at + 1
      if (kind === ESCAPE) {
        last = at
        if (this.#isWorth(bytes, at)) found(at)
      } else if (at - last >= GLANCE) {
        const escape = next.from(at)
        // Whatever holds that one has no other before it.
        if (escape - at > this.#shortest) return escape - this.#shortest + 1
        last = at
      }
    }
    return length
  }

  /** A break, a character of a form, or what could begin an escape. */
  #isWorth(bytes: Buffer, at: number): boolean {
    const byte = bytes[at] as number
    return this.#within[byte] === 1 || isLineBreak(byte) || begins(bytes, byte, at + 1, LEVELS)
  }
}

/** Finds escapes in ascending order. */
class NextEscape {
  readonly #bytes: Buffer
  readonly #places = ESCAPE_BEGINNINGS.map(() => -1)

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** The end where there is none. */
  from(from: number): number {
    let least = this.#bytes.length
    for (let index = 0; index < ESCAPE_BEGINNINGS.length; index++) {
      if ((this.#places[index] as number) < from) {
        const at = this.#bytes.indexOf(ESCAPE_BEGINNINGS[index] as number, from)
        this.#places[index] = at < 0 ? this.#bytes.length : at
      }
      least = Math.min(least, this.#places[index] as number)
    }
    return least
  }
}
