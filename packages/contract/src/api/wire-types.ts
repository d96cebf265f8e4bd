import { z } from 'zod'
import { grantRequestSchema } from '../grants/grant.ts'
import { BOUNDS, limitsSchema } from '../limits.ts'
import { rungSchema } from '../rungs.ts'
import { guestPathSchema } from '../sandbox-spec.ts'
import { SANDBOX_STATES } from '../sandbox-states.ts'
import { createFromSchema } from '../snapshots.ts'
import { namedVolumeMountsSchema } from '../volumes.ts'
import { workspaceIdSchema, workspaceSourceSchema } from '../workspaces.ts'

/** Shapes of the HTTP API. Times are ISO 8601 with milliseconds; bytes in JSON are base64. */

/** What becomes of a sandbox that nobody uses. */
export const IDLE_ACTIONS = ['pause', 'hibernate', 'kill'] as const
export type IdleAction = (typeof IDLE_ACTIONS)[number]

/** What is recorded beside commands and the network. */
const recordOptionsSchema = z.strictObject({
  /** Changes below these paths, as far as the guest sees them: it watches each of their directories. */
  files: z.array(guestPathSchema).max(16).optional(),
  /** Programs that processes execute, and how those end. Refused on rungs that cannot tell (`processRecord`). */
  processes: z.boolean().optional(),
})
export type RecordOptions = z.output<typeof recordOptionsSchema>

export const createSandboxSchema = createFromSchema
  .extend({
    /** Directories that outlive it, each a volume of the tenant by identifier or name. One sandbox at a time may write to one. */
    volumes: namedVolumeMountsSchema.optional(),
    /** After this long without a call the sandbox is paused, hibernated or killed, but never while somebody waits for a command. */
    idleMs: z
      .int()
      .min(1000)
      .max(30 * 24 * 3_600_000)
      .optional(),
    idleAction: z.enum(IDLE_ACTIONS).optional(),
    /** No deadline. Needs the scope `sandbox:persistent`. */
    persistent: z.boolean().optional(),
    record: recordOptionsSchema.optional(),
    /** What it has at `/workspace` for itself alone: one that is there, or a new one of this source. Needs the scope `workspaces`. */
    workspace: z.union([workspaceIdSchema, workspaceSourceSchema]).optional(),
    /**
     * A key of its own, a part of the one that makes it, which works from inside alone and ends with it: programs in it find this server at
     * `HEARTH_URL`, with `HEARTH_API_KEY`. `{}` for the defaults. Forks do not have it. Needs the scope `keys`.
     */
    delegate: grantRequestSchema.optional(),
  })
  .meta({ id: 'CreateSandbox' })
export type CreateSandbox = z.input<typeof createSandboxSchema>

export const sandboxViewSchema = z
  .object({
    id: z.string(),
    state: z.enum(SANDBOX_STATES),
    rung: rungSchema,
    driver: z.string(),
    template: z.string(),
    createdAt: z.iso.datetime(),
    /** Null for a persistent sandbox. */
    expiresAt: z.iso.datetime().nullable(),
    idleMs: z.number().nullable(),
    idleAction: z.enum(IDLE_ACTIONS).nullable(),
    /** The sandbox that it was forked of. */
    parent: z.string().nullable(),
    /** The snapshot that it was made of, or the point at which it was forked. */
    origin: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    limits: limitsSchema.required(),
    /** What it has of the tenant's volumes. */
    volumes: z.array(z.object({ volume: z.string(), path: z.string(), readOnly: z.boolean() })),
    /** While it is hibernated: whether its processes go on when it wakes, or why not. */
    hibernation: z.object({ memory: z.boolean(), reason: z.string().nullable() }).nullable(),
    /** Of one that was made of a snapshot or forked: whether the processes that were captured go on in it, or why not. */
    restored: z.object({ memory: z.boolean(), reason: z.string().nullable() }).nullable(),
    /** Why it ended or failed. */
    reason: z.string().nullable(),
  })
  .meta({ id: 'Sandbox' })
export type SandboxView = z.output<typeof sandboxViewSchema>

/** Every list is paged: `next` is passed as `cursor`, and null at the end. */
export function pageSchema<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), next: z.string().nullable() })
}

export const renewSchema = z.strictObject({ ttlMs: z.int().min(1000).max(BOUNDS.maximumTtlMs) }).meta({ id: 'Renew' })
