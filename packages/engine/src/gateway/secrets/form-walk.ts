import type { EncodedForm } from './encoded-forms.ts'
import { lengthOf, reading, SOFT_BREAK, UNFINISHED, valueOf } from './escape-notation.ts'
import { begins, isLineBreak, LEVELS, readAt, startsEscape } from './escapes.ts'

/** No break is of these lengths. */
const MISMATCH = -1000
const MANY = -1001
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
  if (!begins(bytes, byte, at + 1, LEVELS)) return 0
  for (let level = 1; level <= LEVELS; level++) {
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
        const way = this.#way(at, next)
        if (way === MISMATCH) return MISMATCH
        if (way === UNFINISHED || way === MANY) return this.#either(at, next, pieces)
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

  /** How long what stands here is: the next character, or below zero a break before it. It may be neither, both, or not all there. */
  #way(at: number, next: number): number {
    const wanted = this.#form.bytes[next]
    let way = this.#bytes[at] === wanted ? 1 : MISMATCH
    let before = reading(this.#bytes[at] as number, 1)
    for (let level = 1; level <= LEVELS; level++) {
      if (!begins(this.#bytes, valueOf(before), at + lengthOf(before), LEVELS)) return way
      const read = readAt(this.#bytes, at, level)
      if (read === UNFINISHED) return UNFINISHED
      if (read === before) continue
      before = read
      const one = this.#lengthAs(read, wanted, next)
      if (one !== MISMATCH && way !== MISMATCH) return MANY
      if (one !== MISMATCH) way = one
    }
    return way
  }

  #lengthAs(read: number, wanted: number | undefined, next: number): number {
    if (valueOf(read) === wanted) return lengthOf(read)
    const breaks = valueOf(read) === SOFT_BREAK || (this.#form.kind === 'packed' && isLineBreak(valueOf(read)))
    return breaks && next > 0 ? -lengthOf(read) : MISMATCH
  }

  /** All that `way` could be. */
  #ways(at: number, next: number): number[] {
    const wanted = this.#form.bytes[next]
    const ways = new Set(this.#bytes[at] === wanted ? [1] : [])
    for (let level = 1; level <= LEVELS; level++) {
      const read = readAt(this.#bytes, at, level)
      if (read === UNFINISHED) return [...ways, UNFINISHED]
      const one = this.#lengthAs(read, wanted, next)
      if (one !== MISMATCH) ways.add(one)
    }
    return [...ways]
  }

  /** A `%` may stand for itself or begin an escape. */
  #either(at: number, next: number, pieces: number[] | null): number {
    const mark = pieces?.length ?? 0
    let unfinished = false
    for (const way of this.#ways(at, next)) {
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
