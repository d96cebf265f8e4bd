import type { EncodedForm } from './encoded-forms.ts'
import { lengthOf, SOFT_BREAK, UNFINISHED, valueOf } from './escape-notation.ts'
import { isLineBreak, LEVELS, readAt, startsEscape } from './escapes.ts'

export const MISMATCH = -2
/** No encoder puts more between two lines. */
const LONGEST_BREAK = 16

/** Whether what was read stands between two lines. */
export function isBreak(read: number): boolean {
  return valueOf(read) === SOFT_BREAK || isLineBreak(valueOf(read))
}

/** The first byte that is no part of the breaks here. */
export function afterBreaks(bytes: Buffer, from: number): number {
  let at = from
  for (let length = breakAt(bytes, at); length > 0 && at - from < LONGEST_BREAK; length = breakAt(bytes, at))
    at += length
  return at
}

function breakAt(bytes: Buffer, at: number): number {
  const byte = bytes[at]
  if (byte === undefined) return 0
  if (isLineBreak(byte)) return 1
  for (let level = 1; startsEscape(byte) && level <= LEVELS; level++) {
    const read = readAt(bytes, at, level)
    if (read === UNFINISHED) return 0
    if (isBreak(read)) return lengthOf(read)
  }
  return 0
}

/** Whether the bytes up to there end with so many of a form. Most do not with the last few. */
export function endsWith(bytes: Buffer, at: number, form: Buffer, count: number): boolean {
  for (let back = 1; back <= count; back++) if (bytes[at - back] !== form[count - back]) return false
  return true
}

/** Goes along a form, with escapes and breaks wherever they may be. */
export class FormWalk {
  readonly #bytes: Buffer
  readonly #form: EncodedForm
  /** How many characters of the form were there when the bytes ended. */
  reached = 0

  constructor(bytes: Buffer, form: EncodedForm) {
    this.#bytes = bytes
    this.#form = form
  }

  /** From one of its characters on. The end; or that it is something else, or not all there. */
  follow(from: number, index: number, pieces: number[] | null): number {
    const { bytes, kind } = this.#form
    let [at, next, breaks] = [from, index, 0]
    while (next < bytes.length) {
      const byte = this.#bytes[at]
      if (byte === undefined) return this.#ended(next)
      if (kind !== 'fixed' && startsEscape(byte)) {
        const ways = this.#ways(at, next)
        const [way] = ways
        if (way === undefined) return MISMATCH
        if (ways.length > 1 || way === UNFINISHED) return this.#either(ways, at, next, pieces)
        if (way > 0) pieces?.push(at, at + way)
        if (way > 0) next++
        at += Math.abs(way)
      } else if (byte === bytes[next]) {
        pieces?.push(at, at + 1)
        at++
        next++
        breaks = 0
      } else if (kind === 'packed' && next > 0 && isLineBreak(byte) && breaks < LONGEST_BREAK) {
        at++
        breaks++
      } else return MISMATCH
    }
    return at
  }

  /** How long what stands here can be: the next character, or below zero a break before it; or it is not all there. */
  #ways(at: number, next: number): number[] {
    const wanted = this.#form.bytes[next]
    const ways = new Set(this.#bytes[at] === wanted ? [1] : [])
    for (let level = 1; level <= LEVELS; level++) {
      const read = readAt(this.#bytes, at, level)
      if (read === UNFINISHED) return [...ways, UNFINISHED]
      const value = valueOf(read)
      if (value === wanted) ways.add(lengthOf(read))
      else if (next > 0 && (value === SOFT_BREAK || (this.#form.kind === 'packed' && isLineBreak(value))))
        ways.add(-lengthOf(read))
    }
    return [...ways]
  }

  /** A `%` may stand for itself or begin an escape. */
  #either(ways: readonly number[], at: number, next: number, pieces: number[] | null): number {
    const mark = pieces?.length ?? 0
    let unfinished = false
    for (const way of ways) {
      if (way > 0) pieces?.splice(mark, Infinity, at, at + way)
      else pieces?.splice(mark)
      const end =
        way === UNFINISHED ? this.#ended(next) : this.follow(at + Math.abs(way), way > 0 ? next + 1 : next, pieces)
      if (end > 0) return end
      unfinished ||= end === UNFINISHED
    }
    return unfinished ? UNFINISHED : MISMATCH
  }

  #ended(next: number): typeof UNFINISHED {
    this.reached = Math.max(this.reached, next)
    return UNFINISHED
  }
}
