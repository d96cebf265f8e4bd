const ORDINARY = 0
const ESCAPE = 1
const UNPRINTABLE = 2
/** `%`, `\\` and `&` begin an escape; what is not printable ends every text that could hold one. */
const KINDS = new Uint8Array(256).fill(UNPRINTABLE)
KINDS.fill(ORDINARY, 0x20, 0x7f)
for (const byte of [0x25, 0x5c, 0x26]) KINDS[byte] = ESCAPE

/** No escape of one character is longer: `&#x000041;`. */
export const LONGEST_ESCAPE = 10
/** The bytes end within what could be an escape. */
export const UNFINISHED = -1
const ENTITIES: Readonly<Record<string, number>> = { amp: 0x26, lt: 0x3c, gt: 0x3e, quot: 0x22, apos: 0x27 }
/** `#`, and the first letters of the names above. */
const STARTS_ENTITY = new Uint8Array(256)
for (const byte of Buffer.from('#algq')) STARTS_ENTITY[byte] = 1
const NUMERIC_ENTITY = /^&#(?:0*(\d{1,3})|[xX]0*([0-9a-fA-F]{1,2}));/
const NUMERIC_BEGUN = /^&(?:#(?:\d{0,7}|[xX][0-9a-fA-F]{0,6})?|[a-z]{0,4})?$/

export function startsEscape(byte: number): boolean {
  return KINDS[byte] === ESCAPE
}

/**
 * Calls back for each place where an escape could begin in a printable text of at least this length, and perhaps for others. Binary content is
 * skipped over because it is not text, and text because the next escape is looked for by the runtime.
 */
export function eachEscape(bytes: Buffer, shortest: number, found: (at: number) => void): void {
  const next = new NextEscape(bytes)
  let at = 0
  while (at + shortest <= bytes.length) {
    // Backwards: whatever is not printable here rules out everything up to it.
    let probe = at + shortest - 1
    while (probe >= at && KINDS[bytes[probe] as number] !== UNPRINTABLE) probe--
    if (probe >= at) {
      at = probe + 1
      continue
    }
    let last = at
    let escape = next.from(at)
    // Those that follow closely may be one text with it.
    while (escape < bytes.length && escape - last <= 2 * shortest) {
      found(escape)
      last = escape
      escape = next.from(escape + 1)
    }
    if (escape >= bytes.length) return
    at = escape - shortest
  }
}

const GLANCE = 32

/** Finds escapes in ascending order. */
class NextEscape {
  readonly #bytes: Buffer
  #percent = -1
  #backslash = -1
  #ampersand = -1

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  from(from: number): number {
    const bytes = this.#bytes
    const glance = Math.min(bytes.length, from + GLANCE)
    for (let at = from; at < glance; at++) if (KINDS[bytes[at] as number] === ESCAPE) return at
    if (this.#percent < glance) this.#percent = this.#search(0x25, glance)
    if (this.#backslash < glance) this.#backslash = this.#search(0x5c, glance)
    if (this.#ampersand < glance) this.#ampersand = this.#search(0x26, glance)
    return Math.min(this.#percent, this.#backslash, this.#ampersand)
  }

  #search(byte: number, from: number): number {
    const at = this.#bytes.indexOf(byte, from)
    return at < 0 ? this.#bytes.length : at
  }
}

/** How long the escape of this character is that stands here: 0 when there is none. */
export function escapeLength(bytes: Buffer, at: number, wanted: number): number {
  switch (bytes[at]) {
    case 0x25:
      return percentLength(bytes, at, wanted)
    case 0x5c:
      return backslashLength(bytes, at, wanted)
    case 0x26:
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
  return entityAt(bytes, at)?.value ?? -1
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

function entityLength(bytes: Buffer, at: number, wanted: number): number {
  const entity = entityAt(bytes, at)
  if (entity !== null) return entity.value === wanted ? entity.length : 0
  return bytes.length - at < LONGEST_ESCAPE && NUMERIC_BEGUN.test(bytes.toString('latin1', at)) ? UNFINISHED : 0
}

function entityAt(bytes: Buffer, at: number): { value: number; length: number } | null {
  if (STARTS_ENTITY[bytes[at + 1] ?? 0] === 0) return null
  const text = bytes.toString('latin1', at, at + LONGEST_ESCAPE)
  const numeric = NUMERIC_ENTITY.exec(text)
  if (numeric !== null) {
    const [whole, decimal, hex] = numeric
    return { value: decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal), length: whole.length }
  }
  const name = /^&([a-z]{2,4});/.exec(text)?.[1] ?? ''
  const value = ENTITIES[name]
  return value === undefined ? null : { value, length: name.length + 2 }
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

function digit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
