/**
 * Whether a text fits a pattern in which `*` is any run of characters. It never goes back, so that it takes little time whatever both are: one may
 * be a tenant's, the other one a guest's.
 */
export function globMatches(pattern: string, text: string): boolean {
  const [first = '', ...between] = pattern.split('*')
  const last = between.pop()
  if (last === undefined) return text === first
  const end = text.length - last.length
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false
  let at = first.length
  for (const piece of between) {
    const found = text.indexOf(piece, at)
    if (found < 0 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}
