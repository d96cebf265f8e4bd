import { BOUNDS, grantSchema, parseInput, type BudgetLimits, type Grant, type Sandbox } from '@hearth/contract'
import { budgetOf } from '../budget/budget.ts'
import type { AgentOptions } from '../loop/options.ts'
import { DEFAULT_TOOLS } from '../tools/toolbox.ts'
import { DELEGATE } from './delegate-tool.ts'

/** Levels below a run, and its sub-agents at one time, when nothing was said. */
const DEPTH = 1
const CHILDREN = 4

/** What a run may do; null for one that was given no grant and nobody to give work to. */
export function grantOf(options: AgentOptions, budget: BudgetLimits): Grant | null {
  const { grant, delegate, sandbox, tools = DEFAULT_TOOLS } = options
  if (grant === undefined && delegate === undefined) return null
  // What has no price would never reach a limit in money.
  if (delegate?.model !== undefined) budgetOf({ dollars: budget.dollars }, delegate.model.name, options.prices ?? {})
  const { rung, template, limits, createdAt, expiresAt } = sandbox.info
  // Some never end.
  const lifeMs = expiresAt.getTime() - createdAt.getTime()
  return parseInput(
    grantSchema,
    {
      policy: {},
      secrets: [],
      paths: { read: 'any', write: 'any' },
      tools: [...tools.map(({ name }) => name), DELEGATE],
      atLeast: rung,
      templates: [template],
      budget,
      deadline: lifeMs > BOUNDS.maximumTtlMs ? null : expiresAt.toISOString(),
      ttlMs: Math.max(1000, Math.min(lifeMs, BOUNDS.maximumTtlMs)),
      depth: delegate === undefined ? 0 : DEPTH,
      children: delegate === undefined ? 0 : CHILDREN,
      limits,
      ...grant,
    },
    'grant',
  )
}

/** No more than the grant allows. */
export function budgetWithin(limits: BudgetLimits, { budget }: Grant): BudgetLimits {
  return {
    // A run takes at least one step: whoever may take none is not begun.
    steps: Math.max(1, Math.min(limits.steps, budget.steps ?? Infinity)),
    tokens: Math.max(1, Math.min(limits.tokens, budget.tokens ?? Infinity)),
    dollars: budget.dollars === null ? limits.dollars : Math.min(limits.dollars ?? Infinity, budget.dollars),
    wallTimeMs: Math.max(1, Math.min(limits.wallTimeMs, budget.wallTimeMs ?? Infinity)),
  }
}

/** What of a machine no grant says, and a fork has nevertheless: all that its origin has. */
export function grantOfFork(sandbox: Sandbox, holder: Grant, child: Grant): Grant {
  const { rung, template, limits } = sandbox.info
  const paths = { read: holder.paths.read, write: child.paths.write }
  return { ...child, secrets: holder.secrets, paths, atLeast: rung, templates: [template], limits }
}
