import { randomBytes } from 'node:crypto'
import { z } from 'zod'

/** Crockford base32 in lower case: no letters that look alike, safe in file, host and cgroup names. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

export type SandboxId = string & { readonly __brand: 'SandboxId' }

/** `sb_` and 20 characters. Fixed length, because some runtimes match identifiers by prefix. */
export const sandboxIdSchema = z
  .string()
  .regex(/^sb_[0-9a-hjkmnp-tv-z]{20}$/)
  .transform((id) => id as SandboxId)

export function newSandboxId(): SandboxId {
  return newId('sb') as SandboxId
}

/** `prefix_` and 20 characters. Never the same twice: the milliseconds tell apart what the randomness does not. */
export function newId(prefix: string): string {
  return `${prefix}_${timeOrderedCharacters()}`
}

/** 9 characters of milliseconds, so that identifiers sort by age, then 11 of randomness (55 bits). */
function timeOrderedCharacters(): string {
  let milliseconds = Date.now()
  let time = ''
  for (let index = 0; index < 9; index++) {
    time = ALPHABET.charAt(milliseconds % 32) + time
    milliseconds = Math.floor(milliseconds / 32)
  }
  const random = Array.from(randomBytes(11), (byte) => ALPHABET.charAt(byte & 31)).join('')
  return time + random
}
