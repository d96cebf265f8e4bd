import type { EncodedForm } from './encoded-forms.ts'
import { EscapeSearch } from './escape-search.ts'
import { LONGEST_ESCAPE, UNFINISHED } from './escape-notation.ts'
import { escapedAt, escapedTwiceAt, escapeLength, isOfEscapes, startsEscape } from './escapes.ts'
import { LiteralSearch } from './literal-search.ts'

export interface Match {
  readonly form: EncodedForm
  readonly start: number
  readonly end: number
  /** Where each character begins, when some of them are escaped. */
  readonly pieces: readonly number[] | null
}

interface Candidate {
  readonly form: EncodedForm
  /** Which of its characters is the first one that is escaped. */
  readonly index: number
}

const MISMATCH = -2
const AT_START = 256
const NONE = 0

/** Finds forms of values, also with some or all of their characters escaped. */
export class FormMatcher {
  readonly #forms: readonly EncodedForm[]
  readonly #literals: LiteralSearch
  readonly #escapes: EscapeSearch
  /** By an escaped character and the one before it: where in the list its candidates are. Almost all escapes have none, and that is told by one look. */
  readonly #escaped = new Uint16Array((AT_START + 1) << 8)
  readonly #candidates: Candidate[][] = [[]]
  readonly #byFirst: readonly (readonly EncodedForm[])[]
  readonly #anyByte = new Uint8Array(256)
  readonly #longest: number

  constructor(forms: readonly EncodedForm[]) {
    this.#forms = forms
    this.#literals = new LiteralSearch(forms)
    this.#escapes = new EscapeSearch(forms)
    this.#longest = Math.max(0, ...forms.map(({ bytes }) => bytes.length)) * LONGEST_ESCAPE
    this.#byFirst = Array.from({ length: 256 }, (_, byte) => forms.filter(({ bytes }) => bytes[0] === byte))
    for (const form of forms) {
      for (const [index, byte] of form.bytes.entries()) {
        this.#anyByte[byte] = 1
        const key = ((index === 0 ? AT_START : (form.bytes[index - 1] ?? 0)) << 8) | byte
        if (this.#escaped[key] === NONE) this.#escaped[key] = this.#candidates.push([]) - 1
        this.#candidates[this.#escaped[key] as number]?.push({ form, index })
      }
    }
  }

  /** All of them, in no order. They may overlap. */
  matches(bytes: Buffer): Match[] {
    const found: Match[] = []
    if (this.#forms.length === 0) return found
    this.#literals.each(bytes, (form, start) =>
      found.push({ form, start, end: start + form.bytes.length, pieces: null }),
    )
    this.#escapes.each(bytes, (at) => {
      this.#escapedBy(bytes, at, escapedAt(bytes, at), found)
      this.#escapedBy(bytes, at, escapedTwiceAt(bytes, at), found)
    })
    return found
  }

  /** How many bytes at the end could be the beginning of a form whose rest has not come yet. */
  unfinished(bytes: Buffer): number {
    const earliest = Math.max(0, bytes.length - this.#longest)
    let at = bytes.length
    while (at > earliest && this.#isWithin(bytes[at - 1] as number)) at--
    for (; at < bytes.length; at++) {
      const byte = bytes[at] as number
      const forms = startsEscape(byte) ? this.#forms : (this.#byFirst[byte] as readonly EncodedForm[])
      for (const form of forms) if (walk(bytes, at, form, 0, null) === UNFINISHED) return bytes.length - at
    }
    return 0
  }

  /** Whether it can be within a form, escaped or not. */
  #isWithin(byte: number): boolean {
    return this.#anyByte[byte] === 1 || isOfEscapes(byte)
  }

  #escapedBy(bytes: Buffer, at: number, byte: number, found: Match[]): void {
    if (byte < 0) return
    const within = at > 0 ? (this.#escaped[((bytes[at - 1] as number) << 8) | byte] as number) : NONE
    if (within !== NONE) this.#collect(bytes, at, within, found)
    const first = this.#escaped[(AT_START << 8) | byte] as number
    if (first !== NONE) this.#collect(bytes, at, first, found)
  }

  #collect(bytes: Buffer, at: number, list: number, found: Match[]): void {
    for (const { form, index } of this.#candidates[list] as readonly Candidate[]) {
      if (index > at || !endsWith(bytes, at, form.bytes, index)) continue
      const start = at - index
      const pieces = Array.from({ length: index }, (_, offset) => start + offset)
      const end = walk(bytes, at, form, index, pieces)
      if (end > 0) found.push({ form, start, end, pieces })
    }
  }
}

/** Whether the bytes up to there end with so many of a form. Most do not with the last few. */
function endsWith(bytes: Buffer, at: number, form: Buffer, count: number): boolean {
  for (let back = 1; back <= count; back++) if (bytes[at - back] !== form[count - back]) return false
  return true
}

/** Follows a form from one of its characters on, escaped or not. The end; or that it is something else, or not all there. */
function walk(bytes: Buffer, from: number, form: EncodedForm, index: number, pieces: number[] | null): number {
  let at = from
  for (let next = index; next < form.bytes.length; next++) {
    if (at >= bytes.length) return UNFINISHED
    const wanted = form.bytes[next] as number
    pieces?.push(at)
    const escape = escapeLength(bytes, at, wanted)
    if (escape === UNFINISHED) return UNFINISHED
    if (escape > 0) at += escape
    else if (bytes[at] === wanted) at++
    else return MISMATCH
  }
  return at
}
