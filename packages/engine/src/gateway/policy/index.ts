import type { Policy, PolicyView } from '@hearth/contract'
import { CompiledPolicy } from './compiled-policy.ts'

export { learnPolicy, type LearnedPolicy } from './learn-policy.ts'

/** What is in force: presets and short forms written out. Throws `invalid_request` for a policy that cannot be. */
export function effectivePolicy(policy: Policy): PolicyView['effective'] {
  const { audit, budgets, rules } = new CompiledPolicy(policy)
  return { mode: audit ? 'audit' : 'enforce', allow: [...rules.allow], deny: [...rules.deny], budgets }
}
