/** Errno values that the filter answers with. The same on every architecture that Hearth runs on. */
export const ERRNO = { EPERM: 1, ENOTTY: 25, ENOSYS: 38, EAFNOSUPPORT: 97 } as const

export type Action = 'allow' | keyof typeof ERRNO

/**
 * Compares the low 32 bits of one argument: `(argument & mask) === value`. The kernel reads the arguments that
 * the policy looks at as 32-bit numbers, so that a caller gains nothing from setting a higher bit.
 */
export interface Comparison {
  readonly argument: number
  readonly mask: number
  readonly value: number
}

/** All comparisons must hold. Cases are tried in order; the first that matches decides. */
export interface Case {
  readonly when: readonly Comparison[]
  readonly action: Action
}

/** What happens to some system calls. `cases` come before `otherwise`. */
export interface Rule {
  readonly names: readonly string[]
  readonly cases: readonly Case[]
  readonly otherwise: Action
}

/** System calls that no rule names, also those that a newer kernel has and we have not judged, seem not to exist. */
export const UNKNOWN_SYSCALL: Action = 'ENOSYS'

export function equals(argument: number, value: number): Comparison {
  return { argument, mask: 0xffff_ffff, value }
}

export function noneOf(argument: number, bits: number): Comparison {
  return { argument, mask: bits, value: 0 }
}
