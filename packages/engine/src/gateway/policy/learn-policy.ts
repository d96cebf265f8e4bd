import { HearthError, HTTP_METHODS, type Policy, type Rule } from '@hearth/contract'
import { CompiledPolicy } from './compiled-policy.ts'
import { readRecord, type Attempt, type RecordedEvent } from './recorded-egress.ts'
import { plainPath } from './path-pattern.ts'

const MOST_PATHS = 256
const MOST_RULES = 1000
const LONGEST_PATH = 1024

/** The smallest policy that would have allowed what was recorded. */
export interface LearnedPolicy {
  readonly policy: Policy & { readonly allow: readonly Rule[] }
  /** What a rule cannot say exactly: a person should look at these. */
  readonly notes: readonly string[]
}

/**
 * What a run needed: each name with the ports it was reached on, and where requests could be seen their methods and paths. What was refused
 * stays so. `current` is the policy of that run: its addresses and its proxy are kept, since a record does not tell them.
 */
export function learnPolicy(events: Iterable<RecordedEvent>, current: Policy = {}): LearnedPolicy {
  const { connections, requests, refused } = readRecord(events)
  const notes = new Set<string>()
  const whole = new Set(connections.map(({ name, port }) => `${name}:${port}`))
  const allow = [
    ...byPort(connections.map(({ name, port }) => ({ rule: { name }, port }))),
    ...byPort(
      requestRules(
        requests.filter(({ name, port }) => !whole.has(`${name}:${port}`)),
        notes,
      ),
    ),
  ].map((rule) => withAddresses(rule, current))
  if (allow.length > MOST_RULES) {
    throw new HearthError('too_many', `more than ${MOST_RULES} rules would be needed`)
  }
  const policy = {
    allow: allow.toSorted((left, right) => (left.name < right.name ? -1 : 1)),
    ...(current.proxy === undefined ? {} : { proxy: current.proxy }),
  }
  const deny = denials(policy, [...connections, ...requests], refused, notes)
  return { policy: deny.length === 0 ? policy : { ...policy, deny }, notes: [...notes] }
}

interface OnPort {
  readonly rule: Omit<Rule, 'ports'>
  readonly port: number
}

/** One rule where ports alone differ. */
function byPort(rules: readonly OnPort[]): Rule[] {
  const ports = new Map<string, Set<number>>()
  for (const { rule, port } of rules) {
    const key = JSON.stringify(rule)
    ports.set(key, (ports.get(key) ?? new Set()).add(port))
  }
  return [...ports].map(([key, found]) => ({
    ...(JSON.parse(key) as OnPort['rule']),
    ports: [...found].toSorted((left, right) => left - right),
  }))
}

/** Paths that the same methods were used on share a rule, so that no method is allowed on a path that it was not used on. */
function requestRules(requests: readonly Attempt[], notes: Set<string>): OnPort[] {
  const methods = new Map<string, Set<string>>()
  for (const { name, port, method, path, isCut } of requests) {
    const key = JSON.stringify([name, port, pathPattern(path ?? '', isCut, notes)])
    methods.set(key, (methods.get(key) ?? new Set()).add(method ?? ''))
  }
  const paths = new Map<string, Set<string | null>>()
  for (const [key, used] of methods) {
    const [name, port, path] = JSON.parse(key) as [string, number, string | null]
    const group = JSON.stringify([name, port, expressible(name, used, notes)])
    paths.set(group, (paths.get(group) ?? new Set()).add(path))
  }
  return [...paths].flatMap(([group, found]) => {
    const [name, port, used] = JSON.parse(group) as [string, number, Rule['methods'] | null]
    const rule = { name, ...(used === null ? {} : { methods: used }) }
    // One path that no pattern can say makes all the others needless.
    if (found.has(null)) return [{ rule, port }]
    const sorted = [...found].filter((path) => path !== null).toSorted()
    return inParts(sorted, MOST_PATHS).map((part) => ({ rule: { ...rule, paths: part }, port }))
  })
}

/** Null for methods that a rule cannot name. */
function expressible(name: string, used: ReadonlySet<string>, notes: Set<string>): Rule['methods'] | null {
  const known = HTTP_METHODS.filter((method) => used.has(method))
  if (known.length === used.size) return known
  notes.add(`${name}: ${[...used].join(', ')} cannot be named one by one, so that all methods are allowed there`)
  return null
}

/** The narrowest pattern that a path matches. Null when only a rule without paths allows it. */
function pathPattern(target: string, isCut: boolean, notes: Set<string>): string | null {
  const path = plainPath(target)
  if (path === null) {
    notes.add(`the path ${target} has more than one reading: no pattern can name it`)
    return null
  }
  const pattern = path.replaceAll(/(%[0-9a-f]{2}|\*)+/gi, '*')
  if (pattern !== path) notes.add(`${path} is allowed as ${pattern}, which is wider`)
  if (pattern.length <= LONGEST_PATH && !isCut) return pattern
  notes.add(`a path of ${path.length}${isCut ? ' and more' : ''} characters is allowed as its beginning`)
  return `${pattern.slice(0, LONGEST_PATH - 2).replace(/\*+$/, '')}**`
}

function withAddresses(rule: Rule, current: Policy): Rule {
  const { allow } = new CompiledPolicy(current).rules
  const addresses = allow.filter(({ name }) => name === rule.name).flatMap((named) => named.addresses ?? [])
  return addresses.length === 0 ? rule : { ...rule, addresses: [...new Set(addresses)] }
}

/** Where the rules allow something that was refused, it is denied, unless that would refuse what was allowed. */
function denials(policy: Policy, allowed: readonly Attempt[], refused: readonly Attempt[], notes: Set<string>): Rule[] {
  const deny: Rule[] = []
  for (const attempt of refused) {
    const { name, port, method, path, isCut } = attempt
    if (!isAllowed(new CompiledPolicy({ ...policy, deny }), attempt)) continue
    const plain = path === null ? null : pathPattern(path, isCut, new Set())
    const methods = HTTP_METHODS.filter((known) => known === method)
    const rule = {
      name,
      ports: [port],
      ...(methods.length === 0 ? {} : { methods }),
      ...(plain === null ? {} : { paths: [plain] }),
    }
    const denied = new CompiledPolicy({ ...policy, deny: [...deny, rule] })
    if (!isAllowed(denied, attempt) && allowed.every((other) => isAllowed(denied, other))) deny.push(rule)
    else
      notes.add(`${[method, name, port, path].filter((part) => part !== null).join(' ')} was refused, and is allowed`)
  }
  return deny
}

function isAllowed(policy: CompiledPolicy, { name, port, method, path }: Attempt): boolean {
  if (method === null || path === null) return policy.connection(name, port).allowed
  return policy.request(name, port, method, path).allowed
}

function inParts<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}
