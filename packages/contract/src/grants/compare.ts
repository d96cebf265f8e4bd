import { HearthError } from '../errors.ts'
import type { Limits } from '../limits.ts'
import type { Policy } from '../policy.ts'
import { isAtLeast } from '../rungs.ts'
import type { Exceeded, Grant, GrantBudget } from './grant.ts'
import { findPolicyExcess } from './policy-subset.ts'
import { Undecided } from './work.ts'

/** How each field of a grant is compared with the same of another: what of it is too much, in no order that matters. */
type Comparison = (asked: Grant, given: Grant) => readonly Exceeded[]

const BUDGET_PARTS = ['steps', 'tokens', 'dollars', 'wallTimeMs'] as const satisfies readonly (keyof GrantBudget)[]
const LIMIT_NAMES = [
  'cpus',
  'memoryBytes',
  'pids',
  'diskBytes',
  'openFiles',
  'outputBytes',
  'wallTimeMs',
] as const satisfies readonly (keyof Limits)[]

const COMPARISONS: Readonly<Record<keyof Grant, Comparison>> = {
  policy: (asked, given) => comparePolicies(asked.policy, given.policy),
  secrets: (asked, given) => compareLists('secrets', asked.secrets, given.secrets),
  paths: (asked, given) => [
    ...compareLists('paths.read', asked.paths.read, given.paths.read, isBelow),
    ...compareLists('paths.write', asked.paths.write, given.paths.write, isBelow),
  ],
  tools: (asked, given) => compareLists('tools', asked.tools, given.tools),
  atLeast: (asked, given) =>
    isAtLeast(asked.atLeast, given.atLeast)
      ? []
      : [{ field: 'atLeast', asked: asked.atLeast, allowed: `${given.atLeast} or stronger` }],
  templates: (asked, given) => compareLists('templates', asked.templates, given.templates),
  budget: (asked, given) =>
    BUDGET_PARTS.flatMap((part) => compareNumbers(`budget.${part}`, asked.budget[part], given.budget[part])),
  deadline: (asked, given) => {
    const within = (asked.deadline === null ? Infinity : Date.parse(asked.deadline)) <= timeOf(given.deadline)
    return within ? [] : [{ field: 'deadline', asked: asked.deadline ?? 'none', allowed: given.deadline ?? 'none' }]
  },
  ttlMs: (asked, given) => compareNumbers('ttlMs', asked.ttlMs, given.ttlMs),
  depth: (asked, given) => compareNumbers('depth', asked.depth, given.depth),
  children: (asked, given) => compareNumbers('children', asked.children, given.children),
  limits: (asked, given) =>
    LIMIT_NAMES.flatMap((name) => compareNumbers(`limits.${name}`, asked.limits[name], given.limits[name])),
}

/** Everything in which one grant is more than another; nothing when it is a part of it. */
export function findExcess(asked: Grant, given: Grant): readonly Exceeded[] {
  return Object.values(COMPARISONS).flatMap((compare) => compare(asked, given))
}

/** Whether whoever has one grant can do nothing that the other does not allow. Where that cannot be found out: no. */
export function isSubset(child: Grant, parent: Grant): boolean {
  return findExcess(child, parent).length === 0
}

export function timeOf(deadline: string | null): number {
  return deadline === null ? Infinity : Date.parse(deadline)
}

export function comparePolicies(asked: Grant['policy'], given: Grant['policy']): readonly Exceeded[] {
  if (given === 'any') return invalidPolicy(asked)
  if (asked === 'any') return [{ field: 'policy', asked: 'any', allowed: describePolicy(given) }]
  try {
    const excess = findPolicyExcess(asked, given)
    return excess === null ? [] : [{ field: 'policy', asked: excess, allowed: describePolicy(given) }]
  } catch (error) {
    if (error instanceof Undecided) return [{ field: 'policy', asked: error.message, allowed: describePolicy(given) }]
    if (HearthError.isInstance(error))
      return [{ field: 'policy', asked: error.message, allowed: describePolicy(given) }]
    throw error
  }
}

/** A policy that is none is no part of anything. */
function invalidPolicy(asked: Grant['policy']): readonly Exceeded[] {
  if (asked === 'any') return []
  try {
    findPolicyExcess(asked, asked)
    return []
  } catch (error) {
    if (!HearthError.isInstance(error)) throw error
    return [{ field: 'policy', asked: error.message, allowed: 'any' }]
  }
}

const SHOWN_RULES = 20

function describePolicy(policy: Policy): string {
  const rules = (policy.allow ?? []).map((rule) => (typeof rule === 'string' ? rule : describeRule(rule)))
  const all = [...rules, ...(policy.presets ?? []).map((preset) => `preset ${preset}`)]
  if (policy.mode === 'audit') all.unshift('mode audit')
  if (all.length === 0) return 'no names'
  const rest = all.length - SHOWN_RULES
  return all.slice(0, SHOWN_RULES).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

function describeRule(rule: Exclude<NonNullable<Policy['allow']>[number], string>): string {
  const ports = rule.ports === undefined ? '' : `:${rule.ports.join('|')}`
  const methods = rule.methods === undefined ? '' : ` ${rule.methods.join('|')}`
  const paths = rule.paths === undefined ? '' : ` ${rule.paths.join('|')}`
  return `${rule.name}${ports}${methods}${paths}`
}

type List = 'any' | readonly string[]

export function compareLists(
  field: string,
  asked: List,
  given: List,
  fits: (asked: string, given: string) => boolean = (one, other) => one === other,
): readonly Exceeded[] {
  if (given === 'any') return []
  const allowed = given.length === 0 ? 'none' : given.join(', ')
  if (asked === 'any') return [{ field, asked: 'any', allowed }]
  const over = asked.filter((one) => !given.some((other) => fits(one, other)))
  return over.length === 0 ? [] : [{ field, asked: over.join(', '), allowed }]
}

/** Whether a path is another one or below it. */
export function isBelow(path: string, directory: string): boolean {
  return directory === '/' || path === directory || path.startsWith(`${directory}/`)
}

/** What is not said is without a limit. */
export function compareNumbers(
  field: string,
  asked: number | null | undefined,
  given: number | null | undefined,
): readonly Exceeded[] {
  if ((asked ?? Infinity) <= (given ?? Infinity)) return []
  return [{ field, asked: String(asked ?? 'without a limit'), allowed: `at most ${given}` }]
}
