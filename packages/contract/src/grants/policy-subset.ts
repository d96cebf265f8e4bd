import { canonicalJson } from '../canonical-json.ts'
import { HTTP_METHODS, type Budgets, type Policy, type Rule } from '../policy.ts'
import { isWhole, nameMatches, portsOf, wholePolicy, type WholePolicy } from '../policy-rules.ts'
import { isNetworkWithin } from './networks.ts'
import { findPathExcess, type PathRules } from './path-language.ts'
import { Work } from './work.ts'

/** Not among those that rules can name: they all are the same to a policy. */
const OTHER_METHOD = 'PROPFIND'

/**
 * Something that one policy allows and another does not, in words; null when there is nothing. What is compared is what policies mean:
 * names, ports, methods, paths, what is denied, what is not looked into. Throws `invalid_request` for a policy that cannot be, and
 * `Undecided` where finding out takes too much work.
 */
export function findPolicyExcess(child: Policy, parent: Policy): string | null {
  const [inner, outer] = [wholePolicy(child), wholePolicy(parent)]
  if (canonicalJson(inner) === canonicalJson(outer)) return null
  if (inner.audit && !outer.audit) return 'mode audit'
  const excess = findBudgetExcess(inner.budgets, outer.budgets)
  if (excess !== null) return excess
  const work = new Work()
  const [asked, given] = [new RuleTable(inner), new RuleTable(outer)]
  for (const name of representatives(inner, outer)) {
    work.spend(1 + asked.size + given.size)
    const found = findExcessAt(name, asked.at(name), given.at(name), work)
    if (found !== null) return found
  }
  return null
}

function findBudgetExcess(child: Budgets, parent: Budgets): string | null {
  for (const part of ['sentBytes', 'receivedBytes', 'connections', 'concurrent'] as const) {
    const most = parent[part] ?? Infinity
    if ((child[part] ?? Infinity) > most) return `${child[part] ?? 'any number of'} ${part}`
  }
  return null
}

/**
 * Names that stand for all: each that a rule names, one below each suffix that no rule names, and one that no rule reaches. Two names
 * that the same rules match are the same to both policies.
 */
function representatives(...policies: readonly WholePolicy[]): Set<string> {
  const patterns = policies.flatMap(({ allow, deny }) => [...allow, ...deny].map(({ name }) => name))
  const labels = new Set(patterns.flatMap((pattern) => pattern.split('.')))
  let fresh = 'any'
  while (labels.has(fresh)) fresh += 'x'
  return new Set([...patterns.map((pattern) => pattern.replace(/^\*/, fresh)), `${fresh}.${fresh}`])
}

/** What a policy says of one name. */
interface NamedRules {
  readonly audit: boolean
  readonly allow: readonly Rule[]
  readonly deny: readonly Rule[]
}

/** Rules by name, so that many of them are not all looked at for each. */
class RuleTable {
  readonly #audit: boolean
  readonly #exact = new Map<string, { readonly allow: Rule[]; readonly deny: Rule[] }>()
  readonly #suffixes: { readonly allow: Rule[]; readonly deny: Rule[] } = { allow: [], deny: [] }

  constructor(policy: WholePolicy) {
    this.#audit = policy.audit
    for (const kind of ['allow', 'deny'] as const) {
      for (const rule of policy[kind]) {
        if (rule.name.startsWith('*.')) this.#suffixes[kind].push(rule)
        else this.#of(rule.name)[kind].push(rule)
      }
    }
  }

  get size(): number {
    return this.#suffixes.allow.length + this.#suffixes.deny.length
  }

  at(name: string): NamedRules {
    const exact = this.#exact.get(name)
    const matching = (kind: 'allow' | 'deny'): Rule[] => [
      ...(exact?.[kind] ?? []),
      ...this.#suffixes[kind].filter((rule) => nameMatches(rule.name, name)),
    ]
    return { audit: this.#audit, allow: matching('allow'), deny: matching('deny') }
  }

  #of(name: string): { readonly allow: Rule[]; readonly deny: Rule[] } {
    const rules = this.#exact.get(name) ?? { allow: [], deny: [] }
    this.#exact.set(name, rules)
    return rules
  }
}

function findExcessAt(name: string, child: NamedRules, parent: NamedRules, work: Work): string | null {
  if (child.allow.length === 0 && !child.audit) return null
  const named = [child, parent].flatMap(({ allow, deny }) => [...allow, ...deny].flatMap(portsOf))
  // One that no rule names stands for all of those.
  const ports = new Set([...named, ...(child.audit ? [unusedPort(named)] : [])])
  for (const port of ports) {
    work.spend(child.allow.length + child.deny.length + parent.allow.length + parent.deny.length)
    const found = findExcessAtPort(atPort(child, port), atPort(parent, port), work)
    if (found !== null) return `${name}:${port}${found}`
  }
  return null
}

function unusedPort(named: readonly number[]): number {
  let port = 1
  while (named.includes(port)) port++
  return port
}

function atPort({ audit, allow, deny }: NamedRules, port: number): NamedRules {
  const covers = (rule: Rule): boolean => portsOf(rule).includes(port)
  const allowing = allow.filter(covers)
  // Where an audit alone would let it pass, a name that is denied without ports is denied at all of them.
  const anyPort = audit && allowing.length === 0
  const denying = deny.filter((rule) => covers(rule) || (anyPort && rule.ports === undefined && isWhole(rule)))
  return { audit, allow: allowing, deny: denying }
}

function isReachable({ audit, allow, deny }: NamedRules): boolean {
  return (audit || allow.length > 0) && !deny.some(isWhole)
}

/** Nobody looks into it, so that anything can be said, also what is not HTTP. */
function isOpaque({ allow, deny }: NamedRules): boolean {
  return deny.length === 0 && (allow.length === 0 || allow.some(isWhole))
}

function findExcessAtPort(child: NamedRules, parent: NamedRules, work: Work): string | null {
  if (!isReachable(child)) return null
  if (!isReachable(parent)) return ''
  const addresses = parent.allow.flatMap((rule) => rule.addresses ?? [])
  const wide = child.allow
    .flatMap((rule) => rule.addresses ?? [])
    .find((network) => !addresses.some((outer) => isNetworkWithin(network, outer)))
  if (wide !== undefined) return ` at ${wide}`
  if (isOpaque(parent)) return null
  if (isOpaque(child)) return ' with every method and path, and other protocols'
  for (const method of [...HTTP_METHODS, OTHER_METHOD]) {
    const [asked, given] = [rulesFor(child, method), rulesFor(parent, method)]
    // A path that can be read in two ways passes only where no rule looks at paths.
    if (passesUnread(asked) && !passesUnread(given)) return ` ${method} with every path`
    const path = findPathExcess(asked, given, work)
    if (path !== null) return ` ${method} ${path}`
  }
  return null
}

function rulesFor({ audit, allow, deny }: NamedRules, method: string): PathRules {
  const fits = (rule: Rule): boolean => rule.methods === undefined || rule.methods.some((one) => one === method)
  const allowing = allow.filter(fits)
  const all = audit || allowing.some((rule) => rule.paths === undefined)
  return {
    allow: all ? 'all' : allowing.flatMap((rule) => rule.paths ?? []),
    deny: deny.filter(fits).flatMap((rule) => rule.paths ?? ['/**']),
  }
}

function passesUnread({ allow, deny }: PathRules): boolean {
  return allow === 'all' && deny.length === 0
}
