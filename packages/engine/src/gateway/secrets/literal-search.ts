import type { EncodedForm } from './encoded-forms.ts'

const LARGEST_TABLE = 65_536
const NONE: readonly EncodedForm[] = []

/**
 * Finds many texts in one pass (Wu and Manber): a table says, for each two bytes, how far the next place can be at which any of them could end.
 * Most bytes are never looked at.
 */
export class LiteralSearch {
  readonly #shift: Uint8Array
  readonly #mask: number
  readonly #shortest: number
  /** By the two bytes at the end of the part that all have. */
  readonly #ending = new Map<number, EncodedForm[]>()

  constructor(forms: readonly EncodedForm[]) {
    this.#shortest = Math.min(256, ...forms.map(({ bytes }) => bytes.length))
    const blocks = forms.length * this.#shortest
    this.#mask = Math.min(LARGEST_TABLE, 2 ** Math.ceil(Math.log2(Math.max(256, blocks * 8)))) - 1
    this.#shift = new Uint8Array(this.#mask + 1).fill(this.#shortest - 1)
    for (const form of forms) this.#add(form)
  }

  /** Calls back for each place at which a form begins. */
  each(bytes: Buffer, found: (form: EncodedForm, start: number) => void): void {
    const shift = this.#shift
    const mask = this.#mask
    const length = bytes.length
    let at = this.#shortest - 1
    while (at < length) {
      const hash = (((bytes[at - 1] as number) << 5) ^ ((bytes[at] as number) * 131)) & mask
      const step = shift[hash] as number
      if (step > 0) at += step
      else this.#verify(bytes, at++, found)
    }
  }

  #verify(bytes: Buffer, at: number, found: (form: EncodedForm, start: number) => void): void {
    const start = at - this.#shortest + 1
    for (const form of this.#ending.get(bytes.readUInt16BE(at - 1)) ?? NONE) {
      const end = start + form.bytes.length
      if (end <= bytes.length && bytes.compare(form.bytes, 0, form.bytes.length, start, end) === 0) found(form, start)
    }
  }

  #add(form: EncodedForm): void {
    const { bytes } = form
    const last = this.#shortest - 1
    for (let at = 1; at <= last; at++) {
      const hash = (((bytes[at - 1] as number) << 5) ^ ((bytes[at] as number) * 131)) & this.#mask
      this.#shift[hash] = Math.min(this.#shift[hash] as number, last - at)
    }
    const key = bytes.readUInt16BE(last - 1)
    this.#ending.set(key, [...(this.#ending.get(key) ?? []), form])
  }
}
