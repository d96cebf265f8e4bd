import {
  isWhole,
  nameMatches,
  portsOf,
  wholePolicy,
  type Budgets,
  type Policy,
  type Refusal,
  type Rule,
} from '@hearth/contract'
import { OTHER_PORTS } from './known-ports.ts'
import { pathMatches, pathMatchesAnyCase, plainPath } from './path-pattern.ts'

/** On which a name is offered that no rule names. */
const AUDITED_PORTS: readonly number[] = [443, 80, ...OTHER_PORTS]

/** A refusal says what a person or a model would have to change. */
export interface Refused {
  readonly allowed: false
  readonly refusal: Refusal
  readonly message: string
}

export type NameVerdict =
  | {
      readonly allowed: true
      /** False when only `audit` lets it pass. */
      readonly named: boolean
      /** What is said inside the connection must be looked at. */
      readonly inspected: boolean
      /** Addresses that are not public and may be dialed. */
      readonly addresses: readonly string[]
    }
  | Refused

export type RequestVerdict = { readonly allowed: true; readonly named: boolean } | Refused

/** A policy that answers. It is pure: names, ports and requests go in, verdicts come out. */
export class CompiledPolicy {
  readonly budgets: Budgets
  readonly audit: boolean
  /** Programs find a proxy. */
  readonly proxy: boolean
  readonly #allow: readonly Rule[]
  readonly #deny: readonly Rule[]

  constructor(input: Policy = {}) {
    const { audit, allow, deny, budgets, proxy } = wholePolicy(input)
    this.audit = audit
    this.proxy = proxy
    this.budgets = budgets
    this.#allow = allow
    this.#deny = deny
  }

  /** Nothing can be reached, so that a sandbox needs no resolver. */
  get empty(): boolean {
    return this.#allow.length === 0 && !this.audit && !this.proxy
  }

  /** Some of its rules are about what is said inside a connection. */
  get partial(): boolean {
    return ![...this.#allow, ...this.#deny].every(isWhole)
  }

  /** What is in force, presets written out. */
  get rules(): { readonly allow: readonly Rule[]; readonly deny: readonly Rule[] } {
    return { allow: this.#allow, deny: this.#deny }
  }

  /** The ports on which a name is offered inside; empty when the name is refused. */
  ports(name: string): readonly number[] {
    const named = this.#allow.filter((rule) => nameMatches(rule.name, name)).flatMap(portsOf)
    const offered = this.audit ? [...named, ...AUDITED_PORTS] : named
    return [...new Set(offered)].filter((port) => this.connection(name, port).allowed)
  }

  /** Whether a connection may be made at all. */
  connection(name: string, port: number): NameVerdict {
    const denied = this.#deny.find((rule) => covers(rule, name, port) && isWhole(rule))
    if (denied !== undefined) return refused('denied', `the policy denies ${denied.name}`)
    const rules = this.#allow.filter((rule) => covers(rule, name, port))
    if (rules.length === 0 && this.audit) {
      // Its ports were not thought of: what an audit lets pass besides is not for a name that is denied.
      const meant = this.#deny.find((rule) => rule.ports === undefined && nameMatches(rule.name, name) && isWhole(rule))
      if (meant !== undefined) return refused('denied', `the policy denies ${meant.name}`)
    }
    if (rules.length === 0 && !this.audit) {
      return this.#allow.some((rule) => nameMatches(rule.name, name))
        ? refused('port_not_allowed', `the policy allows ${name}, but not its port ${port}`)
        : refused('name_not_allowed', `the policy does not allow ${name}`)
    }
    const parts = this.#deny.some((rule) => covers(rule, name, port))
    return {
      allowed: true,
      named: rules.length > 0,
      inspected: parts || (rules.length > 0 && !rules.some(isWhole)),
      addresses: rules.flatMap((rule) => rule.addresses ?? []),
    }
  }

  /** Whether a request inside an opened connection may pass. `target` is the path with its query, as it was sent. */
  request(name: string, port: number, method: string, target: string): RequestVerdict {
    const verdict = this.connection(name, port)
    if (!verdict.allowed) return verdict
    const path = plainPath(target)
    // A query may hold what is nobody's business, and a message is recorded.
    const shown = target.split('?', 1)[0] ?? ''
    const denies = (rule: Rule): boolean => covers(rule, name, port) && mayMatch(rule, method, path)
    if (this.#deny.some(denies)) return refused('denied', `the policy denies ${method} ${shown} at ${name}`)
    const rules = this.#allow.filter((rule) => covers(rule, name, port))
    if (
      rules.some(
        (rule) => methodMatches(rule, method) && (rule.paths === undefined || (path !== null && anyPath(rule, path))),
      )
    ) {
      return { allowed: true, named: true }
    }
    if (this.audit) return { allowed: true, named: false }
    if (path === null) return refused('malformed', `the path ${shown} can be read in more than one way`)
    return rules.some((rule) => methodMatches(rule, method))
      ? refused('path_not_allowed', `the policy does not allow ${method} ${path} at ${name}`)
      : refused('method_not_allowed', `the policy does not allow ${method} at ${name}`)
  }
}

function covers(rule: Rule, name: string, port: number): boolean {
  return nameMatches(rule.name, name) && portsOf(rule).includes(port)
}

function methodMatches(rule: Rule, method: string): boolean {
  return rule.methods === undefined || rule.methods.some((allowed) => allowed === method)
}

function anyPath(rule: Rule, path: string): boolean {
  return rule.paths === undefined || rule.paths.some((pattern) => pathMatches(pattern, path))
}

/** For what is denied: a path that has more than one reading might be the one that is meant, and so might one in other letters. */
function mayMatch(rule: Rule, method: string, path: string | null): boolean {
  if (!methodMatches(rule, method)) return false
  return path === null || rule.paths === undefined || rule.paths.some((pattern) => pathMatchesAnyCase(pattern, path))
}

function refused(refusal: Refusal, message: string): Refused {
  return { allowed: false, refusal, message }
}
