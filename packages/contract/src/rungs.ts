import { z } from 'zod'

/** The isolation ladder, weakest first. The order is the meaning: a later rung is a stronger boundary. */
export const RUNGS = ['simulated', 'process', 'container', 'gvisor', 'microvm'] as const

export type Rung = (typeof RUNGS)[number]

export const rungSchema = z.enum(RUNGS)

/** True when `rung` isolates at least as strongly as `floor`. */
export function isAtLeast(rung: Rung, floor: Rung): boolean {
  return RUNGS.indexOf(rung) >= RUNGS.indexOf(floor)
}
