import type { Policy, PolicyView, Rule } from '@hearth/contract'
import { CompiledPolicy, portsOf } from './compiled-policy.ts'

export { learnPolicy, type LearnedPolicy } from './learn-policy.ts'

/** What is in force: presets, short forms and ports written out. Throws `invalid_request` for a policy that cannot be. */
export function effectivePolicy(policy: Policy): PolicyView['effective'] {
  const { audit, budgets, rules } = new CompiledPolicy(policy)
  const whole = (rule: Rule): Rule => ({ ...rule, ports: [...portsOf(rule)] })
  return { mode: audit ? 'audit' : 'enforce', allow: rules.allow.map(whole), deny: rules.deny.map(whole), budgets }
}
