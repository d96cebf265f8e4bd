import { z } from 'zod'
import { BOUNDS } from '../limits.ts'
import { agentEventSchema, budgetLimitsSchema, spentSchema, STOP_REASONS } from '../run-events.ts'
import { RUN_MESSAGES, RUN_STATES, runIdSchema } from '../runs.ts'

/** Who works on a run: shown to others, and nothing more. */
const ownerSchema = z.string().regex(/^[\x21-\x7e]{1,200}$/, 'must be printable, without spaces')
const leaseMsSchema = z.int().min(1000).max(BOUNDS.longestRunLeaseMs)
const leaseSchema = z.int().min(1)
const labelsSchema = z
  .record(z.string().min(1).max(64), z.string().max(4096))
  .refine((labels) => Object.keys(labels).length <= 64, 'at most 64')

export const createRunSchema = z
  .strictObject({
    /** Chosen by the caller, so that the call can be repeated. Default: a new one. */
    id: runIdSchema.optional(),
    task: z.string().min(1).max(BOUNDS.runTaskCharacters),
    model: z.string().min(1).max(1000),
    budget: budgetLimitsSchema,
    workspace: z.string().max(64).nullable().optional(),
    parent: runIdSchema.nullable().optional(),
    metadata: labelsSchema.optional(),
    owner: ownerSchema,
    leaseMs: leaseMsSchema.optional(),
  })
  .meta({ id: 'CreateRun' })

export const runViewSchema = z
  .object({
    id: z.string(),
    task: z.string(),
    model: z.string(),
    state: z.enum(RUN_STATES),
    /** Why it ended. */
    reason: z.enum(STOP_REASONS).nullable(),
    detail: z.string().nullable(),
    sandbox: z.string().nullable(),
    workspace: z.string().nullable(),
    /** The run that it was forked of, or that it works for. */
    parent: z.string().nullable(),
    budget: budgetLimitsSchema,
    spent: spentSchema,
    metadata: z.record(z.string(), z.string()),
    /** Null when nobody works on it. */
    driver: z.object({ owner: z.string(), until: z.iso.datetime() }).nullable(),
    events: z.int(),
    bytes: z.int(),
    /** How many messages it was sent, and the number of the last that took effect. */
    messages: z.int(),
    message: z.int(),
    /** All that came of it is written down. */
    complete: z.boolean(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Run' })
export type RunView = z.output<typeof runViewSchema>

/** Takes the run, or with `lease` holds it for another while. `force`: also from one that may be at work still. */
export const takeRunSchema = z
  .strictObject({
    owner: ownerSchema.optional(),
    lease: leaseSchema.optional(),
    leaseMs: leaseMsSchema.optional(),
    force: z.boolean().optional(),
  })
  .refine(({ owner, lease }) => owner !== undefined || lease !== undefined, 'owner: is needed to take a run')
  .meta({ id: 'TakeRun' })

/** The number proves it: it is another for each who takes the run. */
export const runLeaseSchema = z
  .object({ run: z.string(), lease: leaseSchema, until: z.iso.datetime() })
  .meta({ id: 'RunLease' })
export type RunLeaseView = z.output<typeof runLeaseSchema>

export const createdRunSchema = z.object({ run: runViewSchema, lease: runLeaseSchema }).meta({ id: 'CreatedRun' })

export const appendRunEventsSchema = z
  .strictObject({
    lease: leaseSchema,
    /** In order. The first must be the next one of the run. */
    events: z.array(agentEventSchema).min(1).max(BOUNDS.runBatch),
  })
  .meta({ id: 'AppendRunEvents' })

/** `next` is the number of the event after the last of this page, passed as `from`. */
export const runEventPageSchema = z
  .object({ items: z.array(agentEventSchema), next: z.int(), end: z.boolean() })
  .meta({ id: 'RunEventPage' })

export const postRunMessageSchema = z
  .strictObject({ kind: z.enum(RUN_MESSAGES), text: z.string().max(BOUNDS.runMessageCharacters).optional() })
  .refine(({ kind, text }) => kind !== 'steer' || (text ?? '').trim() !== '', 'steer: needs a text')
  .meta({ id: 'PostRunMessage' })

export const runMessageSchema = z
  .object({ number: z.int(), kind: z.enum(RUN_MESSAGES), text: z.string(), at: z.iso.datetime() })
  .meta({ id: 'RunMessage' })
export const runMessagePageSchema = z.object({ items: z.array(runMessageSchema) }).meta({ id: 'RunMessagePage' })
export type RunMessageView = z.output<typeof runMessageSchema>
