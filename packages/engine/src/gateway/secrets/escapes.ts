import { FIRST_LETTERS_OF_NAMES, LETTERS_OF_NAMES, LONGEST_NAME, beginsName, namedEntity } from './entities.ts'
import { digit, lengthOf, reading, SOFT_BREAK, STRANGE, UNFINISHED, valueOf } from './escape-notation.ts'

const PERCENT = 0x25
const BACKSLASH = 0x5c
const AMPERSAND = 0x26
const EQUALS = 0x3d
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const [U, X, HASH, SEMICOLON, OPEN, CLOSE] = Array.from('ux#;{}', (one) => one.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
  number,
  number,
]
/** Of `\`: what a letter stands for, and what stands for itself. */
const AFTER_BACKSLASH = new Map(
  Object.entries({ n: '\n', r: '\r', t: '\t', '"': '"', "'": "'", '/': '/', '\\': '\\' }).map(([one, other]) => [
    one.charCodeAt(0),
    other.charCodeAt(0),
  ]),
)
const LONGEST_NUMBER = 8

/** How often one escape may be wrapped in another: JSON within JSON within a URL. */
export const LEVELS = 3
/** With `=` as in quoted-printable. */
export const ESCAPE_BEGINNINGS: readonly number[] = [PERCENT, BACKSLASH, AMPERSAND, EQUALS, LINE_FEED, CARRIAGE_RETURN]

/** All that escapes can be made of. */
const OF_ESCAPES = new Uint8Array(256)
for (const byte of Buffer.from(`%\\&=\r\n0123456789abcdefABCDEFuxX#;{}nrt${LETTERS_OF_NAMES}`)) OF_ESCAPES[byte] = 1

export function startsEscape(byte: number): boolean {
  return byte === PERCENT || byte === BACKSLASH || byte === AMPERSAND || byte === EQUALS
}

export function isLineBreak(value: number): boolean {
  return value === LINE_FEED || value === CARRIAGE_RETURN
}

/** Whether it can be a part of an escape. What an escape by a backslash alone stands for is not: that is a character of its text. */
export function isOfEscapes(byte: number): boolean {
  return OF_ESCAPES[byte] === 1
}

/** By the first character of an escape and the one after it. */
const BEGINS = new Uint8Array(1 << 16)
for (const [first, seconds] of [
  [PERCENT, '0123456789abcdefABCDEF'],
  [EQUALS, '0123456789abcdefABCDEF\r\n'],
  [AMPERSAND, `#${FIRST_LETTERS_OF_NAMES}`],
  [BACKSLASH, `ux${String.fromCharCode(...AFTER_BACKSLASH.keys())}`],
] as const) {
  for (const second of Buffer.from(seconds)) BEGINS[(first << 8) | second] = 1
}

/** Whether an escape could begin with this character, going by the one that follows: most do not, and that is told by one look. */
export function begins(bytes: Buffer, first: number, next: number, level: number): boolean {
  if (!startsEscape(first)) return false
  const byte = bytes[next]
  if (byte === undefined || BEGINS[(first << 8) | byte] === 1) return true
  return level > 1 && begins(bytes, byte, next + 1, level - 1)
}

/**
 * The character here after escapes were taken off so many times, as a `reading`. Each of the characters that an escape is written with may be
 * escaped itself, so that `%5C%75002B` is read as `\u002B` first and as `+` then.
 */
export function readAt(bytes: Buffer, at: number, level: number): number {
  if (at >= bytes.length) return UNFINISHED
  if (level === 0) return reading(bytes[at] as number, 1)
  const first = readAt(bytes, at, level - 1)
  if (first === UNFINISHED) return UNFINISHED
  if (!begins(bytes, valueOf(first), at + lengthOf(first), level)) return first
  switch (valueOf(first)) {
    case PERCENT:
      return hexadecimal(bytes, at, lengthOf(first), 2, level) || first
    case BACKSLASH:
      return afterBackslash(bytes, at, lengthOf(first), level) || first
    case AMPERSAND:
      return entity(bytes, at, lengthOf(first), level) || first
    case EQUALS:
      return softBreak(bytes, at, lengthOf(first), level) || hexadecimal(bytes, at, lengthOf(first), 2, level) || first
    default:
      return first
  }
}

/** Like `readAt`; what begins no escape is the same at all levels. */
function plainOr(bytes: Buffer, at: number, level: number): number {
  const byte = bytes[at]
  return byte === undefined || startsEscape(byte) ? readAt(bytes, at, level) : reading(byte, 1)
}

/** So many digits from there on. 0: something else is there. */
function hexadecimal(bytes: Buffer, at: number, from: number, digits: number, level: number): number {
  let length = from
  let value = 0
  for (let count = 0; count < digits; count++) {
    const read = plainOr(bytes, at + length, level - 1)
    if (read === UNFINISHED) return UNFINISHED
    const one = digit(valueOf(read))
    if (one < 0) return 0
    value = value * 16 + one
    length += lengthOf(read)
  }
  return reading(value > 255 ? STRANGE : value, length)
}

function afterBackslash(bytes: Buffer, at: number, from: number, level: number): number {
  const next = plainOr(bytes, at + from, level - 1)
  if (next === UNFINISHED) return UNFINISHED
  const length = from + lengthOf(next)
  const kind = valueOf(next)
  if (kind === X) return hexadecimal(bytes, at, length, 2, level)
  if (kind === U) {
    const brace = plainOr(bytes, at + length, level - 1)
    if (brace === UNFINISHED) return UNFINISHED
    return valueOf(brace) === OPEN
      ? number(bytes, at, length + lengthOf(brace), 16, CLOSE, level)
      : hexadecimal(bytes, at, length, 4, level)
  }
  const value = AFTER_BACKSLASH.get(kind)
  return value === undefined ? 0 : reading(value, length)
}

function softBreak(bytes: Buffer, at: number, from: number, level: number): number {
  const next = plainOr(bytes, at + from, level - 1)
  if (next === UNFINISHED) return UNFINISHED
  const length = from + lengthOf(next)
  if (valueOf(next) === LINE_FEED) return reading(SOFT_BREAK, length)
  if (valueOf(next) !== CARRIAGE_RETURN) return 0
  const last = plainOr(bytes, at + length, level - 1)
  if (last === UNFINISHED) return UNFINISHED
  return valueOf(last) === LINE_FEED ? reading(SOFT_BREAK, length + lengthOf(last)) : 0
}

function entity(bytes: Buffer, at: number, from: number, level: number): number {
  const next = plainOr(bytes, at + from, level - 1)
  if (next === UNFINISHED) return UNFINISHED
  if (valueOf(next) !== HASH) return named(bytes, at, from, level)
  const length = from + lengthOf(next)
  const base = plainOr(bytes, at + length, level - 1)
  if (base === UNFINISHED) return UNFINISHED
  return (valueOf(base) | 0x20) === X
    ? number(bytes, at, length + lengthOf(base), 16, SEMICOLON, level)
    : number(bytes, at, length, 10, SEMICOLON, level)
}

/** Digits up to what closes them. Entities of HTML may also go without it. */
function number(bytes: Buffer, at: number, from: number, base: number, close: number, level: number): number {
  let length = from
  let value = 0
  for (let count = 0; count <= LONGEST_NUMBER; count++) {
    const read = plainOr(bytes, at + length, level - 1)
    if (read === UNFINISHED) return UNFINISHED
    const one = digit(valueOf(read))
    if (one < 0 || one >= base) {
      const closed = valueOf(read) === close
      if (count === 0 || (!closed && close === CLOSE)) return 0
      return reading(value > 255 ? STRANGE : value, closed ? length + lengthOf(read) : length)
    }
    value = value * base + one
    length += lengthOf(read)
  }
  return 0
}

function named(bytes: Buffer, at: number, from: number, level: number): number {
  let length = from
  let name = ''
  while (name.length <= LONGEST_NAME) {
    const read = plainOr(bytes, at + length, level - 1)
    if (read === UNFINISHED) return UNFINISHED
    const letter = valueOf(read) | 0x20
    if (letter < 0x61 || letter > 0x7a) {
      const closed = valueOf(read) === SEMICOLON
      const value = namedEntity(name, closed)
      return value < 0 ? 0 : reading(value, closed ? length + lengthOf(read) : length)
    }
    name += String.fromCharCode(valueOf(read))
    if (name.length === 2 && !beginsName(name)) return 0
    length += lengthOf(read)
  }
  return 0
}
