import { portsOf, wholePolicy, type Policy, type PolicyView, type Rule } from '@hearth/contract'

export { learnPolicy, type LearnedPolicy } from './learn-policy.ts'

/** What is in force: presets, short forms and ports written out. Throws `invalid_request` for a policy that cannot be. */
export function effectivePolicy(policy: Policy): PolicyView['effective'] {
  const { audit, budgets, proxy, ...rules } = wholePolicy(policy)
  const whole = (rule: Rule): Rule => ({ ...rule, ports: [...portsOf(rule)] })
  const [allow, deny] = [rules.allow.map(whole), rules.deny.map(whole)]
  return { mode: audit ? 'audit' : 'enforce', allow, deny, budgets, ...(proxy ? { proxy } : {}) }
}
