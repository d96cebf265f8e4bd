import { entityAt, entityLength } from './entities.ts'
import { digit, UNFINISHED } from './escape-notation.ts'

const PERCENT = 0x25
const BACKSLASH = 0x5c
const AMPERSAND = 0x26

/** All of `%2541`, `\\u0041`, `\\x41`, `&#x41;` and the names of entities. */
const OF_ESCAPES = new Uint8Array(256)
for (const byte of Buffer.from('%\\&0123456789abcdefABCDEFuxX#;amplgtquos')) OF_ESCAPES[byte] = 1
export const ESCAPE_BEGINNINGS: readonly number[] = [PERCENT, BACKSLASH, AMPERSAND]

export function startsEscape(byte: number): boolean {
  return byte === PERCENT || byte === BACKSLASH || byte === AMPERSAND
}

/** Whether it can be a part of an escape. What an escape by a backslash alone stands for is not: that is a character of its text. */
export function isOfEscapes(byte: number): boolean {
  return OF_ESCAPES[byte] === 1
}

/** How long the escape of this character is that stands here: 0 when there is none. */
export function escapeLength(bytes: Buffer, at: number, wanted: number): number {
  switch (bytes[at]) {
    case PERCENT:
      return percentLength(bytes, at, wanted)
    case BACKSLASH:
      return backslashLength(bytes, at, wanted)
    case AMPERSAND:
      return entityLength(bytes, at, wanted)
    default:
      return 0
  }
}

/** The character that the escape here stands for, or a negative number. `%25` may also be the first half of a double escape. */
export function escapedAt(bytes: Buffer, at: number): number {
  const kind = bytes[at + 1] as number
  if (bytes[at] === 0x25) return hexAt(bytes, at + 1)
  if (bytes[at] === 0x5c) {
    if (kind === 0x75) return bytes[at + 2] === 0x30 && bytes[at + 3] === 0x30 ? hexAt(bytes, at + 4) : -1
    if (kind === 0x78) return hexAt(bytes, at + 2)
    return kind === 0x22 || kind === 0x2f || kind === 0x5c ? kind : -1
  }
  const entity = entityAt(bytes, at)
  return entity > 0 ? entity >> 4 : -1
}

/** The same of what is escaped twice: `%2541`. */
export function escapedTwiceAt(bytes: Buffer, at: number): number {
  return bytes[at] === 0x25 && bytes[at + 1] === 0x32 && bytes[at + 2] === 0x35 ? hexAt(bytes, at + 3) : -1
}

function percentLength(bytes: Buffer, at: number, wanted: number): number {
  const once = matchesHex(bytes, at + 1, wanted)
  if (once !== 0) return once < 0 ? UNFINISHED : 3
  const twice = matchesHex(bytes, at + 1, 0x25)
  if (twice <= 0) return twice
  const inner = matchesHex(bytes, at + 3, wanted)
  return inner > 0 ? 5 : inner
}

function backslashLength(bytes: Buffer, at: number, wanted: number): number {
  const kind = bytes[at + 1]
  if (kind === undefined) return UNFINISHED
  if (kind === wanted && (kind === 0x22 || kind === 0x2f || kind === 0x5c)) return 2
  if (kind === 0x78) return scaled(matchesHex(bytes, at + 2, wanted), 4)
  if (kind !== 0x75) return 0
  const high = matchesHex(bytes, at + 2, 0)
  return high > 0 ? scaled(matchesHex(bytes, at + 4, wanted), 6) : high
}

function scaled(found: number, length: number): number {
  return found > 0 ? length : found
}

/** 1: the two digits say this value. 0: they do not. Unfinished: they are not all there yet. */
function matchesHex(bytes: Buffer, at: number, wanted: number): number {
  const high = bytes[at]
  if (high === undefined) return UNFINISHED
  if (digit(high) !== wanted >> 4) return 0
  const low = bytes[at + 1]
  if (low === undefined) return UNFINISHED
  return digit(low) === (wanted & 15) ? 1 : 0
}

function hexAt(bytes: Buffer, at: number): number {
  const high = digit(bytes[at] ?? 0)
  const low = digit(bytes[at + 1] ?? 0)
  return high < 0 || low < 0 ? -1 : high * 16 + low
}
