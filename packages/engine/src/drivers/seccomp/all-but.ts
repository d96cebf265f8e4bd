import type { Comparison } from './policy-types.ts'

/** The values whose bits in `mask` are those of `value`. */
type Pattern = Pick<Comparison, 'mask' | 'value'>

/**
 * Comparisons of which at least one holds exactly when the argument is none of `patterns`. libseccomp has neither an order
 * of rules nor a masked "not equal", and its plain one looks at 64 bits of which the kernel ignores half.
 */
export function allBut(argument: number, patterns: readonly Pattern[]): Comparison[] {
  // By those with the fewest bits first: a bit that a pattern does not look at would have to be told apart for nothing.
  const ordered = patterns.toSorted((one, other) => bitCount(one.mask) - bitCount(other.mask))
  return outside({ mask: 0, value: 0 }, ordered).map((pattern) => ({ argument, ...pattern }))
}

/** What of `within` is in none of the patterns. */
function outside(within: Pattern, patterns: readonly Pattern[]): Pattern[] {
  const meeting = patterns.filter(({ mask, value }) => ((value ^ within.value) & mask & within.mask) === 0)
  const [first] = meeting
  if (first === undefined) return [within]
  const bit = lowestBit(first.mask & ~within.mask)
  if (bit === 0) return []
  const mask = (within.mask | bit) >>> 0
  return [within.value, (within.value | bit) >>> 0].flatMap((value) => outside({ mask, value }, meeting))
}

function lowestBit(bits: number): number {
  return (bits & -bits) >>> 0
}

function bitCount(bits: number): number {
  return bits.toString(2).replaceAll('0', '').length
}
