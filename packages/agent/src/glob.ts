/**
 * Whether a path matches a pattern: `*` and `?` within a name, `**` over any number of names, `{a,b}` one of several.
 *
 * SAFETY: patterns come from a model. Matching is by dynamic programming, never by a regular expression, so that no pattern takes
 * longer than its length times that of the path.
 */
export function matchesGlob(path: string, pattern: string): boolean {
  return expandBraces(pattern).some((one) => matchParts(path.split('/'), one.split('/')))
}

const MOST_ALTERNATIVES = 64

/** One level of braces at a time; more alternatives than the limit are left as they are written. */
function expandBraces(pattern: string): string[] {
  let patterns = [pattern]
  for (;;) {
    const next = patterns.flatMap((one) => {
      const found = /^([^{]*)\{([^{}]*)\}(.*)$/s.exec(one)
      if (found === null) return [one]
      const [, before = '', inside = '', after = ''] = found
      return inside.split(',').map((piece) => before + piece + after)
    })
    if (next.length > MOST_ALTERNATIVES || next.length === patterns.length) {
      return next.length > MOST_ALTERNATIVES ? patterns : next
    }
    patterns = next
  }
}

/** `reach[i]`: the pattern so far matches the first i names. */
function matchParts(names: readonly string[], parts: readonly string[]): boolean {
  let reach = [true, ...names.map(() => false)]
  for (const part of parts) {
    const next = names.map(() => false)
    next.unshift(part === '**' && reach[0] === true)
    for (let index = 1; index <= names.length; index++) {
      next[index] =
        part === '**'
          ? reach[index] === true || next[index - 1] === true
          : reach[index - 1] === true && matchesName(names[index - 1] ?? '', part)
    }
    reach = next
  }
  return reach.at(-1) === true
}

/** `*` is any number of characters of a name, `?` is one. */
export function matchesName(name: string, pattern: string): boolean {
  let [at, from, star, mark] = [0, 0, -1, 0]
  while (at < name.length) {
    if (from < pattern.length && pattern[from] !== '*' && (pattern[from] === '?' || pattern[from] === name[at])) {
      at++
      from++
    } else if (pattern[from] === '*') {
      star = from++
      mark = at
    } else if (star !== -1) {
      from = star + 1
      at = ++mark
    } else return false
  }
  while (pattern[from] === '*') from++
  return from === pattern.length
}
