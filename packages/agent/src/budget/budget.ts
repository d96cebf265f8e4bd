import {
  budgetLimitsSchema,
  HearthError,
  parseInput,
  type BudgetLimits,
  type Spent,
  type StopReason,
} from '@hearth/contract'
import { priceOf, type Price, type Prices } from '../models/prices.ts'

const DEFAULTS = { steps: 60, tokens: 5_000_000, dollars: 5, wallTimeMs: 60 * 60_000 } as const

/** The limits of a run. A limit in money for a model without a price would never be reached, so that it is refused. */
export function budgetOf(given: Partial<BudgetLimits>, model: string, prices: Prices): BudgetLimits {
  const { dollars = null } = given
  requirePrice(model, { dollars }, prices)
  const priced = priceOf(model, prices) !== null
  const limits = { ...DEFAULTS, ...(priced ? {} : { dollars: null }), ...given }
  return parseInput(budgetLimitsSchema, limits, 'budget')
}

export function requirePrice(model: string, { dollars }: Pick<BudgetLimits, 'dollars'>, prices: Prices): void {
  if (dollars === null || priceOf(model, prices) !== null) return
  throw new HearthError('invalid_request', `there is no price for ${model}, so that a limit in money means nothing`, {
    suggestion: 'Give its price (`--price NAME=IN/OUT`), or limit steps, tokens and time.',
  })
}

type Part = 'steps' | 'tokens' | 'cost' | 'wall_time'

/** How much of each part is used, 1 being all of it. */
function shares(limits: BudgetLimits, spent: Spent): readonly { part: Part & StopReason; used: number }[] {
  return [
    { part: 'steps', used: spent.steps / limits.steps },
    { part: 'tokens', used: spent.tokens / limits.tokens },
    {
      part: 'cost',
      used: limits.dollars === null ? 0 : limits.dollars === 0 ? freeShare(spent) : spent.dollars / limits.dollars,
    },
    { part: 'wall_time', used: spent.wallTimeMs / limits.wallTimeMs },
  ]
}

/** With no money at all, the first cent is too much. */
function freeShare(spent: Spent): number {
  return spent.dollars > 0 ? 1 : 0
}

export function exhausted(limits: BudgetLimits, spent: Spent): (Part & StopReason) | null {
  return shares(limits, spent).find(({ used }) => used >= 1)?.part ?? null
}

/** Told when less than this share is left, once each. */
const THRESHOLDS = [0.5, 0.2, 0.05] as const

export interface Reminder {
  readonly about: string
  readonly text: string
}

/** The most urgent thing to say about the budget that was not said yet. */
export function reminderOf(limits: BudgetLimits, spent: Spent, said: ReadonlySet<string>): Reminder | null {
  for (const threshold of THRESHOLDS.toReversed()) {
    const near = shares(limits, spent).filter(({ used }) => 1 - used <= threshold)
    const first = near.find(({ part }) => !said.has(`${part}:${threshold}`))
    if (first === undefined) continue
    // What was said about less says all about more.
    if (THRESHOLDS.some((lower) => lower < threshold && said.has(`${first.part}:${lower}`))) continue
    const text = `Less than ${threshold * 100} % of the budget is left (${describeLeft(limits, spent)}). ${advice(threshold)}`
    return { about: `${first.part}:${threshold}`, text }
  }
  return null
}

function advice(threshold: number): string {
  if (threshold > 0.2) return 'Keep to the task.'
  return threshold > 0.05 ? 'Finish what you have begun and check it.' : 'Submit now: the next calls may be the last.'
}

function describeLeft(limits: BudgetLimits, spent: Spent): string {
  const parts = [
    `${Math.max(0, limits.steps - spent.steps)} steps`,
    `${Math.max(0, limits.tokens - spent.tokens)} tokens`,
    ...(limits.dollars === null ? [] : [`$${Math.max(0, limits.dollars - spent.dollars).toFixed(2)}`]),
    `${Math.max(0, Math.round((limits.wallTimeMs - spent.wallTimeMs) / 1000))} s`,
  ]
  return parts.join(', ')
}

/** No reply is asked for that the budget could not pay, as far as that is known beforehand. */
export function outputAllowance(limits: BudgetLimits, spent: Spent, price: Price | null, most: number): number {
  const tokens = limits.tokens - spent.tokens
  const affordable =
    limits.dollars === null || price === null || price.output === 0
      ? Infinity
      : ((limits.dollars - spent.dollars) / price.output) * 1_000_000
  return Math.max(256, Math.floor(Math.min(most, tokens, affordable)))
}
