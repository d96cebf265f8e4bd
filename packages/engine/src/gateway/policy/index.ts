import { portsOf, wholePolicy, type Policy, type PolicyView, type Rule } from '@hearth/contract'

export { learnPolicy, type LearnedPolicy } from './learn-policy.ts'

/** What is in force: presets, short forms and ports written out. Throws `invalid_request` for a policy that cannot be. */
export function effectivePolicy(policy: Policy): PolicyView['effective'] {
  const { audit, budgets, allow, deny } = wholePolicy(policy)
  const whole = (rule: Rule): Rule => ({ ...rule, ports: [...portsOf(rule)] })
  return { mode: audit ? 'audit' : 'enforce', allow: allow.map(whole), deny: deny.map(whole), budgets }
}
