import { globMatches } from './glob.ts'

/**
 * Escapes of bytes that are no UTF-8 but that lenient readers take for ASCII (`%c0%ae` for a dot), and of characters that others make dots and slashes
 * of when they normalize: those of full width, and the leaders.
 */
const DISGUISED = /%(c[01]|e0%[89]|f0%8|f[5-9a-f]|ef%bc%(8e|8f|bc)|e2%80%a[456])/i

/**
 * The path of a request target as rules see it, without the query. Null when two readers could understand it differently: escapes of
 * unreserved characters, dots, slashes and backslashes, empty or dotted parts, control characters. Such a request is refused where paths matter.
 */
export function plainPath(target: string): string | null {
  const path = target.split('?', 1)[0] ?? ''
  if (!path.startsWith('/') || path.includes('//') || path.includes('\\') || path.includes('#')) return null
  // eslint-disable-next-line no-control-regex -- that is what is looked for
  if (/[\u0000-\u0020\u007f-\uffff]/.test(path)) return null
  // Escapes of `/`, `\`, `.`, `%`, NUL and of letters and digits have more than one reading; others (`%20`) have one.
  if (/%(?![0-9a-f]{2})|%(2[ef5]|5c|00|3[0-9]|[46][1-9a-f]|[57][0-9a]|2d|5f|7e)/i.test(path)) return null
  return DISGUISED.test(path) || path.split('/').some(isDots) ? null : path
}

/** `.` and `..`, also with parameters (`..;a=b`), which some servers take off before they resolve them. */
function isDots(part: string): boolean {
  return /^\.\.?(;|%3b|$)/i.test(part)
}

/** `*` is one part of the path, or a piece of one; `**` at the end is everything below. */
export function pathMatches(pattern: string, path: string): boolean {
  const below = pattern.endsWith('**')
  // What is below begins in the part where `**` stands: that part may go on, and others may follow.
  const wanted = (below ? pattern.slice(0, -1) : pattern).split('/')
  const parts = path.split('/')
  if (below ? parts.length < wanted.length : parts.length !== wanted.length) return false
  return wanted.every((part, index) => globMatches(part, parts[index] ?? ''))
}

/** The same for what is denied: many servers take `/Admin` for `/admin`. */
export function pathMatchesAnyCase(pattern: string, path: string): boolean {
  return pathMatches(inSmallLetters(pattern), inSmallLetters(path))
}

function inSmallLetters(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
