import { z } from 'zod'

export const eventViewSchema = z
  .object({
    seq: z.number(),
    at: z.iso.datetime(),
    sandbox: z.string().nullable(),
    type: z.string(),
    data: z.record(z.string(), z.unknown()),
    /** Of this entry and all before it of its sandbox. Null for what is of no sandbox, and for what is older than the chain. */
    hash: z.string().nullable(),
  })
  .meta({ id: 'Event' })
export type EventView = z.output<typeof eventViewSchema>

/** `next` is passed as `after`. `dropped` is set when events after the asked position are gone: up to `through` some are missing. */
export const eventPageSchema = z
  .object({
    items: z.array(eventViewSchema),
    next: z.number(),
    dropped: z.object({ through: z.number(), count: z.number() }).nullable(),
  })
  .meta({ id: 'EventPage' })

/** The end of the chain of a sandbox, as it was last written. */
export const recordHeadSchema = z
  .object({
    sandbox: z.string(),
    /** Entries ever written, those that were dropped too. */
    length: z.int().min(0),
    /** Number and hash of the last one. */
    seq: z.int().min(0),
    hash: z.string(),
    /** Ed25519, base64, over the canonical JSON of the four fields above. Null where the server has no key. */
    signature: z.string().nullable(),
    /** 32 bytes in hex. */
    publicKey: z.string().nullable(),
  })
  .meta({ id: 'RecordHead' })
export type RecordHead = z.output<typeof recordHeadSchema>

/** The entries that retention took from the beginning, and the hash of the last of them: with it the rest can be verified. */
const recordDropsSchema = z.object({ count: z.int(), through: z.int(), hash: z.string().nullable() })
export type RecordDrops = z.output<typeof recordDropsSchema>

/** Whether the record of a sandbox is as it was written. */
export const recordVerdictSchema = z
  .object({
    valid: z.boolean(),
    /** The first thing that is wrong. */
    problem: z.string().nullable(),
    entries: z.int(),
    /** Of these, the first ones, which have no hash: they are older than the chain, or somebody put them there. Nothing proves them. */
    unproven: z.int(),
    dropped: recordDropsSchema.nullable(),
    head: recordHeadSchema,
  })
  .meta({ id: 'RecordVerdict' })
export type RecordVerdict = z.output<typeof recordVerdictSchema>

/** An exported record is lines of JSON: this first, then the entries, and the head last. */
export const recordBeginningSchema = z.object({
  type: z.literal('record'),
  sandbox: z.string(),
  dropped: recordDropsSchema.nullable(),
})

export const recordEndSchema = recordHeadSchema.extend({ type: z.literal('head') })
