import type { Comparison } from './policy-types.ts'

/**
 * Comparisons of which at least one holds exactly when the argument is none of `values`. libseccomp has neither an order
 * of rules nor a masked "not equal", and its plain one looks at 64 bits of which the kernel ignores half.
 */
export function allBut(argument: number, values: readonly number[]): Comparison[] {
  const differing = values.reduce((bits, value) => (bits | (value ^ (values[0] ?? 0))) >>> 0, 0)
  const bits = Array.from({ length: 32 }, (_, index) => 2 ** index)
  const elsewhere = bits
    .filter((bit) => (bit & differing) === 0)
    .map((mask) => ({ argument, mask, value: (((values[0] ?? 0) ^ mask) & mask) >>> 0 }))
  const common = ((values[0] ?? 0) & ~differing) >>> 0
  const neighbours = subsets(bits.filter((bit) => (bit & differing) !== 0))
    .map((subset) => (common | subset) >>> 0)
    .filter((value) => !values.includes(value))
    .map((value) => ({ argument, mask: 0xffff_ffff, value }))
  return [...elsewhere, ...neighbours]
}

function subsets(bits: readonly number[]): number[] {
  return bits.reduce((sums, bit) => [...sums, ...sums.map((sum) => sum + bit)], [0])
}
