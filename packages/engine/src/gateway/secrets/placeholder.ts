import { randomInt } from 'node:crypto'

const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const UPPER = LOWER.toUpperCase()
const DIGITS = '0123456789'
/** Those of base64, and all but the ones that hold the parts of a key together, which stay. */
const ALPHABETS = [LOWER, UPPER, DIGITS, '+/']
const JOINTS = '-_.:= '
const OTHERS = '!*@^~'
/** Bits that nobody guesses. */
const UNGUESSABLE_BITS = 80
const FALLBACK_LENGTH = 24

/** What programs look at to tell one kind of key from another. It is printed in the manuals of who issues them, and thus no part of the secret. */
const KNOWN_PREFIX = new RegExp(
  `^(?:${[
    'A[KS]IA',
    'AGE-SECRET-KEY-1',
    'AIza',
    'GOCSPX-',
    'NRAK-',
    'PMAK-',
    'SG\\.',
    'dckr_[op]at_',
    'do[opr]_v1_',
    'eyJ',
    'figd_',
    'gh[oprsu]_',
    'github_pat_',
    'gl(?:pat|dt|rt|ptt|ft|cbt|soat|imt|agent)-',
    'gl(?:c|sa)_',
    'hf_',
    'hv[bs]\\.',
    'key-',
    'lin_(?:api|oauth)_',
    'npm_',
    'nvapi-',
    'pat-[a-z]{2}[0-9]-',
    'ph[cx]_',
    'pypi-',
    'rubygems_',
    'sb_(?:secret|publishable)_',
    'sbp_',
    'shp(?:at|ca|pa|ss)_',
    'sk-(?:ant-(?:api|admin|oat|sid)[0-9]{2}-|proj-|svcacct-|admin-|or-v1-|lf-)?',
    '[prs]k_(?:live|test)_',
    'sq0(?:atp|csp)-',
    'whsec_',
    'xapp-[0-9]-',
    'xox[a-z](?:\\.xox[a-z])?-',
    'ya29\\.',
  ].join('|')})`,
)
/** The same of others: words before one long run. Words before words may be the secret itself, and so may what a `-` parts by chance. */
const OTHER_PREFIX = /^(?:(?:[a-z]{1,10}|[A-Z]{2,6})[0-9]{0,2}[-_]){1,4}(?=[A-Za-z0-9]{20,}$)/

/**
 * What a sandbox sees instead of a secret: the same length, kind of key and kinds of characters, so that programs that check the shape of a key
 * accept it, and otherwise random. A secret too short for that gets a longer one.
 */
export function newPlaceholder(secret: string): string {
  const prefix = (KNOWN_PREFIX.exec(secret) ?? OTHER_PREFIX.exec(secret))?.[0] ?? ''
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
  if (JOINTS.includes(character)) return character
  return ALPHABETS.find((alphabet) => alphabet.includes(character)) ?? OTHERS
}

function pick(alphabet: string): string {
  return alphabet.charAt(randomInt(alphabet.length))
}
