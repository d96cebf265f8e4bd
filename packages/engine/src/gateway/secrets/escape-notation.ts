/** No escape of one character is longer: `&#x000041;`. */
export const LONGEST_ESCAPE = 10
/** The bytes end within what could be an escape. */
export const UNFINISHED = -1

/** The value of a hexadecimal digit; negative for what is none. */
export function digit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
