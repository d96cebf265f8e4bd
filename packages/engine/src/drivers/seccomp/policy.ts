import { ALLOWED } from './allowed.ts'
import { CONDITIONAL } from './conditional.ts'
import { REFUSED } from './refused.ts'
import { UNKNOWN_SYSCALL, type Rule } from './policy-types.ts'

/** The one policy. Both emitters read it, and each name occurs once in it. */
export const POLICY: readonly Rule[] = [...ALLOWED, ...CONDITIONAL, ...REFUSED]

/** The rule for each name. */
export function ruleFor(name: string): Rule {
  return POLICY.find((rule) => rule.names.includes(name)) ?? { names: [name], cases: [], otherwise: UNKNOWN_SYSCALL }
}
