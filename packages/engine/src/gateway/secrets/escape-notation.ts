/** No escape of one character is longer: `&#x000041;`. */
export const LONGEST_ESCAPE = 10
/** The bytes end within what could be an escape. */
export const UNFINISHED = -1

const DIGITS = new Int8Array(256).fill(-1)
for (let value = 0; value < 16; value++) {
  for (const text of [value.toString(16), value.toString(16).toUpperCase()]) DIGITS[text.charCodeAt(0)] = value
}

/** The value of a hexadecimal digit; negative for what is none. */
export function digit(byte: number): number {
  return DIGITS[byte] as number
}
