import {
  attenuate,
  grantRequestSchema,
  type Exceeded,
  type Grant,
  type GrantRequest,
  type Spent,
} from '@hearth/contract'
import { resolvePath } from '../tools/guest-path.ts'
import { DELEGATE, type WantedSubAgent } from './delegate-tool.ts'

const SHOWN_CHARACTERS = 300

export type Planned = { readonly grant: Grant } | { readonly refused: string }

/**
 * The grant of a sub-agent, as a part of its holder's; or, in words for the model, each thing that is too much and what would have been
 * possible. `holder` has what is left of the budget, of which `shares` are made.
 */
export function plan(wanted: WantedSubAgent, holder: Grant, workdir: string, shares: number): Planned {
  const request = grantRequestSchema.safeParse(requestOf(wanted, holder, workdir, shares))
  if (!request.success) {
    const issues = request.error.issues.slice(0, 10).map(({ path, message }) => `${path.join('.')}: ${message}`)
    return { refused: `its grant is malformed: ${issues.join('; ')}` }
  }
  const attenuated = attenuate(holder, request.data)
  return attenuated.ok
    ? { grant: attenuated.grant }
    : { refused: `you have not so much to give. ${tooMuch(attenuated.exceeded)}` }
}

export function tooMuch(exceeded: readonly Exceeded[]): string {
  const short = (text: string): string => text.slice(0, SHOWN_CHARACTERS)
  const lines = exceeded.map(({ field, asked, allowed }) => `${field}: ${short(asked)} (allowed: ${short(allowed)})`)
  return lines.join('; ')
}

function requestOf(wanted: WantedSubAgent, holder: Grant, workdir: string, shares: number): GrantRequest {
  const { tools, names, secrets, read, write, depth = 0, steps, tokens, dollars, minutes } = wanted
  const { budget } = holder
  const share = (left: number | null): number | null =>
    left === null ? null : Math.min(left, Math.max(1, Math.floor(left / shares)))
  const absolute = (paths: readonly string[]): string[] => paths.map((path) => resolvePath(workdir, path))
  const asked = {
    policy: names === undefined ? {} : { allow: names },
    secrets,
    paths: { read: read && absolute(read), write: write && absolute(write) },
    tools: tools ?? withoutDelegation(holder.tools, depth),
    budget: {
      steps: steps ?? share(budget.steps),
      tokens: tokens ?? share(budget.tokens),
      dollars: dollars ?? (budget.dollars === null ? null : budget.dollars / shares),
      // They work side by side: time is not divided, but some of it is kept for what comes after them.
      wallTimeMs: minutes === undefined ? mostOf(budget.wallTimeMs) : Math.floor(minutes * 60_000),
    },
    depth,
  }
  return asked as GrantRequest
}

const KEPT_TIME = 4

function mostOf(left: number | null): number | null {
  return left === null ? null : left - Math.floor(left / KEPT_TIME)
}

/** Nobody has the tool who may not use it. */
function withoutDelegation(tools: Grant['tools'], depth: number): Grant['tools'] {
  return tools === 'any' || depth > 0 ? tools : tools.filter((name) => name !== DELEGATE)
}

/** What is left of a run for one of its sub-agents, as a grant speaks of it. */
export function budgetLeft(limits: Grant['budget'], spent: Spent): Grant['budget'] {
  const rest = (most: number | null, used: number): number | null => (most === null ? null : Math.max(0, most - used))
  return {
    steps: rest(limits.steps, spent.steps),
    tokens: rest(limits.tokens, spent.tokens),
    dollars: rest(limits.dollars, spent.dollars),
    wallTimeMs: rest(limits.wallTimeMs, Math.ceil(spent.wallTimeMs)),
  }
}
