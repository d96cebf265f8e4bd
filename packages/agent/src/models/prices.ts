import type { Usage } from './model.ts'

/** United States dollars for a million tokens. */
export interface Price {
  readonly input: number
  readonly output: number
  /** Input that came out of a cache. Default: as other input. */
  readonly cachedInput?: number
  /** Input that was put into a cache. Default: as other input. */
  readonly cacheWrite?: number
}

export type Prices = Readonly<Record<string, Price>>

/** By the name of the model; a kind alone, like `scripted:`, is for all of it. Providers change these: give your own where money matters. */
export const PRICES: Prices = {
  'anthropic:claude-fable-5': { input: 10, output: 50, cacheWrite: 12.5 },
  'anthropic:claude-fable-5-1': { input: 10, output: 50, cacheWrite: 12.5 },
  'anthropic:claude-opus-5-5': { input: 4, output: 20, cachedInput: 0.2, cacheWrite: 5 },
  'anthropic:claude-opus-5': { input: 5, output: 25, cachedInput: 0.5, cacheWrite: 6.25 },
  'anthropic:claude-opus-4-5': { input: 5, output: 25, cachedInput: 0.5, cacheWrite: 6.25 },
  'anthropic:claude-sonnet-5-5': { input: 2, output: 10, cachedInput: 0.2, cacheWrite: 2.5 },
  'anthropic:claude-sonnet-5': { input: 2, output: 10, cachedInput: 0.2, cacheWrite: 2.5 },
  'anthropic:claude-sonnet-4-5': { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 },
  'anthropic:claude-haiku-4-5': { input: 1, output: 5, cachedInput: 0.1, cacheWrite: 1.25 },
  'openai:gpt-6.1-sol': { input: 2, output: 10, cachedInput: 0.1, cacheWrite: 2.5 },
  'openai:gpt-6-sol': { input: 2, output: 10, cachedInput: 0.2, cacheWrite: 2.5 },
  'openai:gpt-6-luna': { input: 0.1, output: 0.5, cachedInput: 0.01, cacheWrite: 0.125 },
  'openai:gpt-5': { input: 1.25, output: 10, cachedInput: 0.125 },
  'openai:gpt-5-mini': { input: 0.25, output: 2, cachedInput: 0.025 },
  'openai:gpt-5-nano': { input: 0.05, output: 0.4, cachedInput: 0.005 },
  'openai:gpt-4.1': { input: 2, output: 8, cachedInput: 0.5 },
  'openai:gpt-4.1-mini': { input: 0.4, output: 1.6, cachedInput: 0.1 },
  'scripted:': { input: 0, output: 0 },
}

/** What providers put behind a name for one version of the model: `-20250929`, `-2025-08-07`. */
const DATE = /-20\d\d-?\d\d-?\d\d$/

/** Null for a model that nobody has given a price. A name that only begins like a known one is another model, with a price of its own. */
export function priceOf(model: string, prices: Prices): Price | null {
  const known = { ...PRICES, ...prices }
  const kind = model.slice(0, model.indexOf(':') + 1)
  for (const name of [model, model.replace(DATE, ''), kind]) if (Object.hasOwn(known, name)) return known[name] ?? null
  return null
}

export function costOf(usage: Usage, price: Price): number {
  const plain = Math.max(0, usage.inputTokens - usage.cachedInputTokens - usage.cacheWriteTokens)
  const dollars =
    plain * price.input +
    usage.cachedInputTokens * (price.cachedInput ?? price.input) +
    usage.cacheWriteTokens * (price.cacheWrite ?? price.input) +
    usage.outputTokens * price.output
  return dollars / 1_000_000
}
