import { HearthError } from './errors.ts'
import { policySchema, ruleSchema, type Budgets, type Policy, type Rule } from './policy.ts'
import { PRESETS } from './presets.ts'
import { parseInput } from './sandbox-spec.ts'

const DEFAULT_PORTS = [443, 80] as const

/** A policy with presets and short forms written out. */
export interface WholePolicy {
  readonly audit: boolean
  readonly allow: readonly Rule[]
  readonly deny: readonly Rule[]
  readonly budgets: Budgets
  readonly proxy: boolean
}

/** Throws `invalid_request` for a policy that cannot be. */
export function wholePolicy(input: Policy): WholePolicy {
  const policy = parseInput(policySchema, input, 'policy')
  const presets = (policy.presets ?? []).flatMap((name) => PRESETS[name])
  const allow = [...(policy.allow ?? []).map(fullRule), ...presets]
  const wide = allow.find((rule) => rule.addresses !== undefined && rule.name.startsWith('*.'))
  if (wide !== undefined) {
    throw new HearthError('invalid_request', `policy.allow: ${wide.name} cannot name addresses: only an exact name can`)
  }
  return {
    audit: policy.mode === 'audit',
    allow,
    deny: (policy.deny ?? []).map(fullRule),
    budgets: policy.budgets ?? {},
    proxy: policy.proxy ?? false,
  }
}

function fullRule(rule: string | Rule): Rule {
  if (typeof rule !== 'string') return rule
  const [name = '', port] = rule.split(':')
  return parseInput(ruleSchema, port === undefined ? { name } : { name, ports: [Number(port)] }, 'policy')
}

export function portsOf(rule: Rule): readonly number[] {
  return rule.ports ?? DEFAULT_PORTS
}

/** It allows or denies all that is said to a name and port, so that nobody need look into it. */
export function isWhole(rule: Rule): boolean {
  return rule.methods === undefined && rule.paths === undefined
}

/** Whether an exact name or `*.suffix` names it. Both must be normal. */
export function nameMatches(pattern: string, name: string): boolean {
  if (!pattern.startsWith('*.')) return pattern === name
  return name.length > pattern.length - 1 && name.endsWith(pattern.slice(1))
}
