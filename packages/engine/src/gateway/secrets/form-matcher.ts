import type { EncodedForm } from './encoded-forms.ts'
import { EscapeSearch } from './escape-search.ts'
import { lengthOf, LONGEST_ESCAPE, reading, UNFINISHED, valueOf } from './escape-notation.ts'
import { begins, isLineBreak, isOfEscapes, LEVELS, readAt, startsEscape } from './escapes.ts'
import { afterBreaks, endsWith, FormWalk, isBreak } from './form-walk.ts'
import { LiteralSearch } from './literal-search.ts'

export interface Match {
  readonly form: EncodedForm
  readonly start: number
  readonly end: number
  /** Where each character begins and ends, one after the other, when some of them are escaped. */
  readonly pieces: readonly number[] | null
}

/** What of the end of some bytes could be the beginning of a form whose rest has not come yet. */
export interface Unfinished {
  /** So many bytes must wait for what follows. */
  readonly held: number
  /** So many, at least as many, are needed to find it. */
  readonly needed: number
}

interface Candidate {
  readonly form: EncodedForm
  /** Which of its characters is the first one that is escaped, or the first after a break. */
  readonly index: number
}

const AT_START = 256
const NONE = 0
/** Of so many characters of a form one more may pass before the rest has come, and no more than this. */
const CHARACTERS_FOR_ONE = 12
const MOST_PASSING = 3

/**
 * How many characters of a form do not wait for what follows. Where both sides speak in turn, waiting for one that happens to be the first of a
 * form could last for ever; the rest is found all the same, and the first few tell nothing.
 */
function mayPass({ bytes }: EncodedForm): number {
  return Math.min(MOST_PASSING, Math.floor(bytes.length / CHARACTERS_FOR_ONE))
}

/** Finds forms of values, also with some or all of their characters escaped, and broken into lines. */
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
    this.#longest = Math.max(0, ...forms.map(({ bytes }) => bytes.length)) * LONGEST_ESCAPE
    this.#byFirst = Array.from({ length: 256 }, (_, byte) => forms.filter(({ bytes }) => bytes[0] === byte))
    const escapable = forms.filter(({ kind }) => kind !== 'fixed')
    this.#escapes = new EscapeSearch(escapable)
    for (const { bytes } of forms) for (const byte of bytes) this.#anyByte[byte] = 1
    for (const form of escapable) {
      for (const [index, byte] of form.bytes.entries()) {
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
    this.#escapes.each(bytes, (at) => this.#around(bytes, at, found))
    return found
  }

  unfinished(bytes: Buffer): Unfinished {
    const earliest = Math.max(0, bytes.length - this.#longest)
    let at = bytes.length
    while (at > earliest && this.#isWithin(bytes[at - 1] as number)) at--
    let needed = 0
    for (; at < bytes.length; at++) {
      for (const form of this.#beginningAt(bytes, at)) {
        const walk = new FormWalk(bytes, form)
        if (walk.follow(at, 0, null) !== UNFINISHED) continue
        needed = Math.max(needed, bytes.length - at)
        if (walk.reached > mayPass(form)) return { held: bytes.length - at, needed }
      }
    }
    return { held: 0, needed }
  }

  /** Those whose first character is here; all where that is not there yet. */
  #beginningAt(bytes: Buffer, at: number): readonly EncodedForm[] {
    const byte = bytes[at] as number
    const literal = this.#byFirst[byte] as readonly EncodedForm[]
    if (!begins(bytes, byte, at + 1, LEVELS)) return literal
    const values = new Set([byte])
    for (let level = 1; level <= LEVELS; level++) {
      const read = readAt(bytes, at, level)
      if (read === UNFINISHED) return this.#forms
      values.add(valueOf(read))
    }
    return values.size === 1 ? literal : Array.from(values, (value) => this.#byFirst[value] ?? []).flat()
  }

  /** Whether it can be within a form, escaped or not. */
  #isWithin(byte: number): boolean {
    return this.#anyByte[byte] === 1 || isOfEscapes(byte)
  }

  /** What may hold the escape or the break here as its first. */
  #around(bytes: Buffer, at: number, found: Match[]): void {
    const byte = bytes[at] as number
    if (isLineBreak(byte)) return this.#across(bytes, at, found)
    // It may also be a character like others.
    if (this.#anyByte[byte] === 1) this.#escapedBy(bytes, at, byte, found)
    let read = reading(byte, 1)
    for (let level = 1; level <= LEVELS; level++) {
      if (!begins(bytes, valueOf(read), at + lengthOf(read), LEVELS)) return
      const next = readAt(bytes, at, level)
      if (next === UNFINISHED) return
      if (next === read) continue
      if (isBreak(next)) return this.#across(bytes, at, found)
      this.#escapedBy(bytes, at, valueOf(next), found)
      read = next
    }
  }

  #escapedBy(bytes: Buffer, at: number, value: number, found: Match[]): void {
    if (value > 255) return
    const within = at > 0 ? (this.#escaped[((bytes[at - 1] as number) << 8) | value] as number) : NONE
    if (within !== NONE) this.#collect(bytes, at, within, found)
    const first = this.#escaped[(AT_START << 8) | value] as number
    if (first !== NONE) this.#collect(bytes, at, first, found)
  }

  /** By the characters before and after a break. */
  #across(bytes: Buffer, at: number, found: Match[]): void {
    if (at === 0 || isLineBreak(bytes[at - 1] as number)) return
    const next = afterBreaks(bytes, at)
    if (next >= bytes.length) return
    for (let level = 0; level <= LEVELS; level++) {
      const value = valueOf(readAt(bytes, next, level))
      if (value < 0 || value > 255) return
      const list = this.#escaped[((bytes[at - 1] as number) << 8) | value] as number
      if (list !== NONE) this.#collect(bytes, at, list, found)
      if (!startsEscape(bytes[next] as number)) return
    }
  }

  #collect(bytes: Buffer, at: number, list: number, found: Match[]): void {
    for (const { form, index } of this.#candidates[list] as readonly Candidate[]) {
      if (index > at || !endsWith(bytes, at, form.bytes, index)) continue
      const walk = new FormWalk(bytes, form)
      const end = walk.follow(at, index, null)
      if (end < 0) continue
      const start = at - index
      const pieces = Array.from({ length: index }, (_, offset) => [start + offset, start + offset + 1]).flat()
      walk.follow(at, index, pieces)
      found.push({ form, start, end, pieces })
    }
  }
}
