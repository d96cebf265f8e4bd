import type { Work } from './work.ts'

/** Any path: no rule about paths. */
export type PathSet = 'all' | readonly string[]

/** What may be asked for: paths of some patterns without those of others. */
export interface PathRules {
  readonly allow: PathSet
  readonly deny: readonly string[]
}

/** Any characters of one part of a path, and any at all. */
const PART = Symbol('*')
const REST = Symbol('**')
type Token = string | typeof PART | typeof REST
type Group = 'childAllow' | 'childDeny' | 'parentAllow' | 'parentDeny'
interface Pattern {
  readonly group: Group
  readonly tokens: readonly Token[]
}

/** A place in a pattern: how far it has come with the path so far. */
type Place = readonly [pattern: number, at: number]

/**
 * A path that the child's rules allow and the parent's do not; null when there is none. Exact: all patterns are read side by side, character
 * by character, as one automaton. Throws `Undecided` when that takes too much work.
 */
export function findPathExcess(child: PathRules, parent: PathRules, work: Work): string | null {
  const patterns = [
    ...patternsOf('childAllow', child.allow),
    ...patternsOf('childDeny', child.deny),
    ...patternsOf('parentAllow', parent.allow),
    ...patternsOf('parentDeny', parent.deny),
  ]
  const alphabet = alphabetOf(patterns)
  const start = advance(
    patterns,
    patterns.map((_, index): Place => [index, 0]),
    '/',
  )
  const seen = new Set([keyOf(start)])
  const open: { readonly places: readonly Place[]; readonly path: string }[] = [{ places: start, path: '/' }]
  for (const { places, path } of open) {
    const ends = (group: Group): boolean =>
      places.some(([pattern, at]) => patterns[pattern]?.group === group && isEnd(patterns[pattern], at))
    const asked = (child.allow === 'all' || ends('childAllow')) && !ends('childDeny')
    const given = (parent.allow === 'all' || ends('parentAllow')) && !ends('parentDeny')
    if (asked && !given) return path
    if (isSettled(patterns, places, child.allow)) continue
    for (const character of alphabet) {
      work.spend(places.length + 1)
      const next = advance(patterns, places, character)
      const key = keyOf(next)
      if (seen.has(key)) continue
      seen.add(key)
      open.push({ places: next, path: path + character })
    }
  }
  return null
}

function patternsOf(group: Group, set: PathSet): Pattern[] {
  return set === 'all' ? [] : set.map((pattern) => ({ group, tokens: tokensOf(pattern) }))
}

function tokensOf(pattern: string): Token[] {
  const below = pattern.endsWith('**')
  const tokens = Array.from(below ? pattern.slice(0, -2) : pattern, (character) =>
    character === '*' ? PART : character,
  )
  return below ? [...tokens, REST] : tokens
}

/** All characters that some pattern tells apart, and one that stands for the rest. */
function alphabetOf(patterns: readonly Pattern[]): string[] {
  const told = new Set(
    patterns.flatMap(({ group, tokens }) =>
      tokens
        .filter((token) => typeof token === 'string')
        .flatMap((token) => (isDenied(group) ? [token, otherCase(token)] : [token])),
    ),
  )
  told.add('/')
  const other = Array.from('xyzuvwabcdefghijklmnopqrst0123456789-_~', (character) => character).find(
    (character) => !told.has(character),
  )
  return [...told, other ?? '\u{10FFFF}']
}

/** Where all patterns are after one more character. */
function advance(patterns: readonly Pattern[], places: readonly Place[], character: string): Place[] {
  const next = new Map<string, Place>()
  const reach = (pattern: number, at: number): void => void next.set(`${pattern}:${at}`, [pattern, at])
  for (const [pattern, at] of places) {
    for (const position of withSkipped(patterns[pattern], at)) {
      const token = patterns[pattern]?.tokens[position]
      if (token === REST) reach(pattern, position)
      else if (token === PART && character !== '/') reach(pattern, position)
      else if (token === character || (token === otherCase(character) && isDenied(patterns[pattern]?.group))) {
        reach(pattern, position + 1)
      }
    }
  }
  return [...next.values()].sort(([a, b], [c, d]) => a - c || b - d)
}

/** What is denied is denied in capitals too. */
function isDenied(group: Group | undefined): boolean {
  return group === 'childDeny' || group === 'parentDeny'
}

function otherCase(letter: string): string {
  if (/^[a-z]$/.test(letter)) return letter.toUpperCase()
  return /^[A-Z]$/.test(letter) ? letter.toLowerCase() : letter
}

/** A `*` may stand for nothing. */
function withSkipped(pattern: Pattern | undefined, at: number): number[] {
  const positions = [at]
  while (pattern?.tokens[positions.at(-1) ?? 0] === PART) positions.push((positions.at(-1) ?? 0) + 1)
  return positions
}

function isEnd(pattern: Pattern | undefined, at: number): boolean {
  if (pattern === undefined) return false
  return withSkipped(pattern, at).some(
    (position) => position === pattern.tokens.length || pattern.tokens[position] === REST,
  )
}

/** Whatever comes, the child cannot ask for more: nothing of its patterns is left, or it denies all that follows. */
function isSettled(patterns: readonly Pattern[], places: readonly Place[], allow: PathSet): boolean {
  const of = (group: Group): readonly Place[] => places.filter(([pattern]) => patterns[pattern]?.group === group)
  if (allow !== 'all' && of('childAllow').length === 0) return true
  const open = (group: Group): boolean => of(group).some(([pattern, at]) => patterns[pattern]?.tokens[at] === REST)
  return open('childDeny') || (open('parentAllow') && of('parentDeny').length === 0)
}

function keyOf(places: readonly Place[]): string {
  return places.map(([pattern, at]) => `${pattern}:${at}`).join(' ')
}
