import { z } from 'zod'
import { guestPathSchema, userSchema } from '../sandbox-spec.ts'
import { failureSchema } from './failure.ts'

export const fileViewSchema = z
  .object({
    path: z.string(),
    name: z.string(),
    type: z.enum(['file', 'directory', 'symlink', 'fifo', 'socket', 'device']),
    size: z.number(),
    mode: z.int(),
    uid: z.int(),
    gid: z.int(),
    modifiedAt: z.iso.datetime(),
    target: z.string().nullable(),
  })
  .meta({ id: 'File' })
export type FileView = z.output<typeof fileViewSchema>

export const watchEventSchema = z
  .object({
    kind: z.enum(['created', 'changed', 'attributes', 'removed', 'renamed', 'overflow']),
    path: z.string(),
    from: z.string().nullable(),
  })
  .meta({ id: 'WatchEvent' })

/** Events of a watch (SSE). `watching` is first: everything that happens from then on is seen. */
export const watchStreamSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('watching') }),
  z.object({ type: z.literal('change'), ...watchEventSchema.shape }),
  z.object({ type: z.literal('error'), error: failureSchema }),
])

const mode = z.int().min(0).max(0o7777)

export const makeDirectorySchema = z
  .strictObject({
    path: guestPathSchema,
    parents: z.boolean().optional(),
    mode: mode.optional(),
    user: userSchema.optional(),
  })
  .meta({ id: 'MakeDirectory' })

export const renameSchema = z.strictObject({ path: guestPathSchema, to: guestPathSchema }).meta({ id: 'Rename' })

export const symlinkSchema = z
  .strictObject({
    path: guestPathSchema,
    target: z
      .string()
      .min(1)
      .max(4095)
      .regex(/^[^\0]*$/),
  })
  .meta({ id: 'Symlink' })

export const changeModeSchema = z.strictObject({ path: guestPathSchema, mode }).meta({ id: 'ChangeMode' })
