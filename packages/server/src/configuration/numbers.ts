import { z } from 'zod'

/** What timers of Node take. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
const YEAR_MS = 365 * 24 * 3_600_000

export const COUNT = z.int().min(1).max(Number.MAX_SAFE_INTEGER)
/** How long something is kept. */
export const AGE = z
  .int()
  .min(1)
  .max(100 * YEAR_MS)
/** What is in memory as a whole. */
export const HELD_BYTES = z
  .int()
  .min(1)
  .max(256 * 1024 ** 2)

/**
 * A schema for each of these numbers, so that no default is without its setting. The name says the unit: milliseconds fit a timer,
 * all else is whole. `special` are those with other bounds; `least` is the smallest of all others.
 */
export function numbersLike<Name extends string>(
  defaults: Readonly<Record<Name, number>>,
  special: Partial<Record<Name, z.ZodType<number>>> = {},
  least = 1,
): Record<Name, z.ZodType<number>> {
  const schemas = Object.keys(defaults).map((name) => [name, special[name as Name] ?? usual(name, least)])
  return Object.fromEntries(schemas) as Record<Name, z.ZodType<number>>
}

function usual(name: string, least: number): z.ZodType<number> {
  return z
    .int()
    .min(least)
    .max(name.endsWith('Ms') ? LONGEST_TIMER_MS : Number.MAX_SAFE_INTEGER)
}
