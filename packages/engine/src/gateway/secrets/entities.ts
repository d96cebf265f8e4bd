/** What can stand for a character of a value in HTML, between `&` and `;`. */
const NAMES: Readonly<Record<string, string>> = {
  '"': 'quot',
  '&': 'amp',
  "'": 'apos',
  '<': 'lt',
  '>': 'gt',
  '!': 'excl',
  '#': 'num',
  $: 'dollar',
  '%': 'percnt',
  '(': 'lpar',
  ')': 'rpar',
  '*': 'ast midast',
  '+': 'plus',
  ',': 'comma',
  '.': 'period',
  '/': 'sol',
  ':': 'colon',
  ';': 'semi',
  '=': 'equals',
  '?': 'quest',
  '@': 'commat',
  '[': 'lsqb lbrack',
  '\\': 'bsol',
  ']': 'rsqb rbrack',
  '^': 'Hat',
  _: 'lowbar UnderBar',
  '`': 'grave',
  '{': 'lcub lbrace',
  '|': 'verbar vert',
  '}': 'rcub rbrace',
  '\n': 'NewLine',
}
const VALUES = new Map(
  Object.entries(NAMES).flatMap(([character, names]) =>
    names.split(' ').map((name): [string, number] => [name, character.charCodeAt(0)]),
  ),
)
/** Those that readers also know without `;`. */
const BARE = new Set(['quot', 'amp', 'lt', 'gt'])

export const LONGEST_NAME = Math.max(...Array.from(VALUES.keys(), (name) => name.length))
export const LETTERS_OF_NAMES: string = [...VALUES.keys()].join('')
export const FIRST_LETTERS_OF_NAMES: string = Array.from(VALUES.keys(), (name) => name.charAt(0)).join('')

const BEGINNINGS = new Set(Array.from(VALUES.keys(), (name) => name.slice(0, 2)))

/** Of the first two letters. Most of what follows an `&` is no entity. */
export function beginsName(letters: string): boolean {
  return BEGINNINGS.has(letters)
}

/** The character of that name, or a negative number. */
export function namedEntity(name: string, closed: boolean): number {
  return closed || BARE.has(name) ? (VALUES.get(name) ?? -1) : -1
}
