import { z } from 'zod'
import { rungSchema } from './rungs.ts'

const count = z.int().min(0)

/** Machines that wait for sandboxes of one shape. */
export const poolShapeSchema = z
  .object({
    template: z.string(),
    rung: rungSchema,
    /** For example `crun 1.8.1`. */
    driver: z.string(),
    limits: z.object({ cpus: z.number(), memoryBytes: z.number(), pids: z.number(), diskBytes: z.number() }),
    waiting: count,
    /** How many should wait, by what was asked for lately. The memory of the pool may allow fewer. */
    wanted: count,
    heldBytes: count,
    /** Creates that found one, and that did not. */
    claimed: count,
    missed: count,
    /** Why none can be started now. */
    problem: z.string().nullable(),
  })
  .meta({ id: 'PoolShape' })
export type PoolShape = z.output<typeof poolShapeSchema>

/** Machines of a host that run and are nobody's yet. A create that fits takes one. */
export const poolSchema = z
  .object({
    /** What they may hold of the host's memory together; 0 when the pool is off. */
    memoryBytes: count,
    heldBytes: count,
    waiting: count,
    /** Since the server was started. */
    claimed: count,
    missed: count,
    /** The shape that was asked for last comes first. */
    shapes: z.array(poolShapeSchema),
  })
  .meta({ id: 'Pool' })
export type PoolReport = z.output<typeof poolSchema>

export const setPoolSchema = z
  .strictObject({
    /** 0 turns it off, and ends what waits. */
    memoryBytes: count.max(2 ** 50),
  })
  .meta({ id: 'SetPool' })
