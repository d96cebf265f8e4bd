/** No escape of one character is longer, in whatever it is wrapped: `%255Cu0041`, `\\\\\\u0041`, `&amp;#x000041;`. */
export const LONGEST_ESCAPE = 32
/** The bytes end within what could be an escape. */
export const UNFINISHED = -1

/** What stands for nothing: a line that goes on after it, as in quoted-printable. */
export const SOFT_BREAK = 0x101
/** A character that is in no value. */
export const STRANGE = 0x100

const LENGTH_BITS = 6
const LENGTH_MASK = (1 << LENGTH_BITS) - 1

/** A character as it was read, and how many bytes it takes. Both in one number, which costs nothing. */
export function reading(value: number, length: number): number {
  return length > LONGEST_ESCAPE ? reading(STRANGE, 1) : (value << LENGTH_BITS) | length
}

export function valueOf(read: number): number {
  return read >> LENGTH_BITS
}

export function lengthOf(read: number): number {
  return read & LENGTH_MASK
}

const DIGITS = new Int8Array(256).fill(-1)
for (let value = 0; value < 16; value++) {
  for (const text of [value.toString(16), value.toString(16).toUpperCase()]) DIGITS[text.charCodeAt(0)] = value
}

/** The value of a hexadecimal digit; negative for what is none. */
export function digit(byte: number): number {
  return byte > 255 ? -1 : (DIGITS[byte] as number)
}
