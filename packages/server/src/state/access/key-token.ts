import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 32 characters, five bits each: 52 of them carry 260 bits. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const SECRET_CHARACTERS = 52

/** Fixed lengths, so that the parts need no escaping. */
const TOKEN = /^hearth_(key_[0-9a-hjkmnp-tv-z]{20})_([0-9a-hjkmnp-tv-z]{52})$/

export interface KeyToken {
  readonly id: string
  readonly secret: string
}

export function newSecret(): string {
  return Array.from(randomBytes(SECRET_CHARACTERS), (byte) => ALPHABET.charAt(byte & 31)).join('')
}

export function formatToken({ id, secret }: KeyToken): string {
  return `hearth_${id}_${secret}`
}

/** Null for anything that is not a whole token. */
export function parseToken(text: string): KeyToken | null {
  const [, id, secret] = TOKEN.exec(text) ?? []
  return id === undefined || secret === undefined ? null : { id, secret }
}

/** A plain hash is enough: the secret is random and long, so there is nothing to guess. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

/** Takes the same time wherever the two differ. */
export function matchesHash(secret: string, hash: string): boolean {
  const expected = Buffer.from(hash, 'hex')
  const actual = createHash('sha256').update(secret).digest()
  return expected.length === actual.length && timingSafeEqual(expected, actual)
}
