import { randomInt } from 'node:crypto'

const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const UPPER = LOWER.toUpperCase()
const DIGITS = '0123456789'
/** Bits that nobody guesses. */
const UNGUESSABLE_BITS = 80
const FALLBACK_LENGTH = 24
/** `ghp_`, `sk-ant-api03-`, `github_pat_`, `AKIA`: what programs look at to tell one kind of key from another. */
const PREFIX = /^(?:(?:[A-Za-z0-9]{1,10}[-_]){1,4}|AKIA|ASIA|AIza|eyJ)/

/**
 * What a sandbox sees instead of a secret: the same length, prefix and kinds of characters, so that programs that check the shape of a key
 * accept it, and otherwise random. A secret too short for that gets a longer one.
 */
export function newPlaceholder(secret: string): string {
  const prefix = PREFIX.exec(secret)?.[0] ?? ''
  const rest = secret.slice(prefix.length)
  const shaped = Array.from(rest, (character) => pick(alphabetOf(character)))
  const bits = Array.from(rest, (character) => Math.log2(alphabetOf(character).length)).reduce(
    (sum, value) => sum + value,
    0,
  )
  const body =
    bits >= UNGUESSABLE_BITS
      ? shaped.join('')
      : Array.from({ length: FALLBACK_LENGTH }, () => pick(LOWER + DIGITS)).join('')
  return prefix + body
}

function alphabetOf(character: string): string {
  for (const alphabet of [LOWER, UPPER, DIGITS]) if (alphabet.includes(character)) return alphabet
  return character
}

function pick(alphabet: string): string {
  return alphabet.charAt(randomInt(alphabet.length))
}
