import { digit, LONGEST_ESCAPE, UNFINISHED } from './escape-notation.ts'

/** What can stand for a character of a value in HTML, without its `&`. */
const NAMED = Object.entries({ 'amp;': 0x26, 'lt;': 0x3c, 'gt;': 0x3e, 'quot;': 0x22, 'apos;': 0x27 }).map(
  ([text, value]) => ({ text: Buffer.from(text), value }),
)
const HASH = 0x23
const SEMICOLON = 0x3b
/** The letter of `&#x41;` in lower case. */
const X = 0x78

/** An entity for one character: its value, and in the lower four bits how long it is. 0: there is none. `UNFINISHED`: there may be one. */
export function entityAt(bytes: Buffer, at: number): number {
  const kind = bytes[at + 1]
  if (kind === undefined) return UNFINISHED
  if (kind !== HASH) return namedAt(bytes, at)
  const hexadecimal = ((bytes[at + 2] ?? 0) | 0x20) === X
  return hexadecimal ? numberAt(bytes, at, at + 3, 16) : numberAt(bytes, at, at + 2, 10)
}

/** How long the entity here is when it stands for this character. */
export function entityLength(bytes: Buffer, at: number, wanted: number): number {
  const entity = entityAt(bytes, at)
  if (entity === UNFINISHED) return UNFINISHED
  return entity >> 4 === wanted ? entity & 15 : 0
}

function numberAt(bytes: Buffer, at: number, from: number, base: number): number {
  let value = 0
  for (let next = from; next < at + LONGEST_ESCAPE; next++) {
    const byte = bytes[next]
    if (byte === undefined) return UNFINISHED
    if (byte === SEMICOLON) return next === from ? 0 : (value << 4) | (next + 1 - at)
    const one = digit(byte)
    if (one < 0 || one >= base) return 0
    value = value * base + one
    if (value > 255) return 0
  }
  return 0
}

function namedAt(bytes: Buffer, at: number): number {
  for (const { text, value } of NAMED) {
    let length = 0
    while (length < text.length && bytes[at + 1 + length] === text[length]) length++
    if (length === text.length) return (value << 4) | (length + 1)
    if (at + 1 + length >= bytes.length) return UNFINISHED
  }
  return 0
}
