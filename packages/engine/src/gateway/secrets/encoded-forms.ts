import { SHORTEST_SECRET } from '@hearth/contract'

/**
 * The ways in which a value can be written in a message: as it is, with some or all characters escaped as in URLs, JSON or HTML,
 * and inside base64 of something longer, at each of the three places where it can begin there.
 */
export interface EncodedForms {
  readonly plain: Buffer
  /** What every base64 text that holds the value holds, for each beginning, in both alphabets. */
  readonly base64: readonly Buffer[]
  /** Matches the value with any of its characters escaped. Only worth trying where there is an escape at all. */
  readonly escaped: RegExp
  /** Bytes that the longest form takes. */
  readonly longest: number
}

/** Escapes of one character take at most this: `&#x000000;`. */
const ESCAPE_LENGTH = 10

export function encodedForms(value: string): EncodedForms {
  const plain = Buffer.from(value, 'utf8')
  const base64 = [0, 1, 2].map((shift) => base64Core(plain, shift)).filter((core) => core.length >= SHORTEST_SECRET)
  const alphabets = base64.flatMap((core) => [core, core.replaceAll('+', '-').replaceAll('/', '_')])
  return {
    plain,
    base64: [...new Set(alphabets)].map((core) => Buffer.from(core, 'latin1')),
    escaped: new RegExp(Array.from(plain, escapedByte).join(''), 'g'),
    longest: plain.length * ESCAPE_LENGTH,
  }
}

/** The characters of base64 that the value alone determines when it begins `shift` bytes into a group of three. */
function base64Core(value: Buffer, shift: number): string {
  const text = Buffer.concat([Buffer.alloc(shift), value])
    .toString('base64')
    .replace(/=+$/, '')
  const end = Math.floor(((shift + value.length) * 8) / 6)
  return text.slice(Math.ceil((shift * 8) / 6), end)
}

/** SAFETY: matched against text in latin1, where each byte is one character, so that every alternative is a literal. */
function escapedByte(byte: number): string {
  const hex = byte.toString(16).padStart(2, '0')
  const either = Array.from(hex, (digit) => (/[a-f]/.test(digit) ? `[${digit}${digit.toUpperCase()}]` : digit)).join('')
  const literal = `\\x${hex}`
  const backslashed = byte === 0x22 || byte === 0x2f || byte === 0x5c ? `|\\x5c${literal}` : ''
  return `(?:${literal}|%${either}|%25${either}|\\x5cu00${either}|\\x5cx${either}|&#0*${byte};|&#[xX]0*${either};${backslashed})`
}
