import { z } from 'zod'
import { HearthError } from './errors.ts'
import { newId, type SandboxId } from './ids.ts'
import { BOUNDS, type Limits } from './limits.ts'
import { policySchema } from './policy.ts'
import type { Rung } from './rungs.ts'
import { environmentSchema, sandboxSpecSchema } from './sandbox-spec.ts'
import type { Sandbox } from './sandbox.ts'

export type SnapshotId = string & { readonly __brand: 'SnapshotId' }

export const snapshotIdSchema = z
  .string()
  .regex(/^sn_[0-9a-hjkmnp-tv-z]{20}$/)
  .transform((id) => id as SnapshotId)

export function newSnapshotId(): SnapshotId {
  return newId('sn') as SnapshotId
}

/** A name that a person gives to a snapshot. Never mistaken for an identifier. */
export const snapshotNameSchema = z
  .string()
  .regex(
    /^(?!sn_)[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$/,
    'must be lower-case letters, digits, dots, dashes and underscores, and not begin with sn_',
  )

/**
 * Whether running processes are captured. `auto`: where the rung can, and the result says whether it was done; `required`: or the call is
 * refused; `none`: the disk alone.
 */
export const MEMORY_MODES = ['auto', 'required', 'none'] as const
export type MemoryMode = (typeof MEMORY_MODES)[number]
export const memoryModeSchema = z.enum(MEMORY_MODES)

export const snapshotOptionsSchema = z.strictObject({
  name: snapshotNameSchema.optional(),
  memory: memoryModeSchema.optional(),
  metadata: z.record(z.string().max(64), z.string().max(1024)).optional(),
})
export type SnapshotOptions = z.input<typeof snapshotOptionsSchema>

/** Whether memory was captured; if not, why. */
export type MemoryOutcome =
  | { readonly memory: true; readonly reason: null }
  | { readonly memory: false; readonly reason: string }

/** As it is kept where types are simpler. */
export function memoryOutcome(memory: boolean, reason: string | null): MemoryOutcome {
  return memory ? { memory, reason: null } : { memory, reason: reason ?? '' }
}

/** Of a hibernation: whether running processes are kept. Of a wake: whether they go on. */
export const sleepOptionsSchema = z.strictObject({ memory: memoryModeSchema.optional() }).meta({ id: 'SleepOptions' })
export type SleepOptions = z.input<typeof sleepOptionsSchema>

export interface SnapshotInfo {
  readonly id: SnapshotId
  readonly name: string | null
  /** The sandbox that it was taken of. */
  readonly sandbox: SandboxId
  /** The snapshot that this sandbox came from. */
  readonly parent: SnapshotId | null
  readonly rung: Rung
  readonly driver: string
  readonly template: string
  readonly createdAt: Date
  /** Running processes are in it. */
  readonly memory: boolean
  /** Bytes that exist for it alone, as far as the store can tell. */
  readonly diskBytes: number
  readonly memoryBytes: number
  readonly metadata: Readonly<Record<string, string>>
  /** Of the sandbox that it was taken of; those of a sandbox made from it may differ where the rung allows. */
  readonly limits: Limits
}

const childSchema = z.strictObject({
  /** On top of the parent's; seen by commands that are started after the fork. */
  env: environmentSchema.optional(),
  metadata: z.record(z.string().max(64), z.string().max(1024)).optional(),
  /** What it may reach. Default: what the parent may. */
  policy: policySchema.optional(),
  /** Default: the parent's deadline. */
  ttlMs: z.int().min(1000).max(BOUNDS.maximumTtlMs).optional(),
})

export const forkOptionsSchema = childSchema.extend({
  memory: memoryModeSchema.optional(),
  /** What one child has on top of that, in the order of the children; at most as many as there are. */
  each: z.array(childSchema).max(BOUNDS.children).optional(),
})
export type ForkOptions = z.input<typeof forkOptionsSchema> & { readonly signal?: AbortSignal }

/** How many children one fork may have. */
export const childCountSchema = z.int().min(1).max(BOUNDS.children)

/** A sandbox that is made of a snapshot. Rung and template are those of the snapshot; what is not given is as in the sandbox it was taken of. */
export const createFromSchema = sandboxSpecSchema.extend({
  /** A snapshot, by identifier or name. */
  from: z.union([snapshotIdSchema, snapshotNameSchema]).optional(),
  /** Whether its processes go on. Default `auto`: when the snapshot has them. */
  memory: memoryModeSchema.optional(),
})
export type CreateFrom = z.input<typeof createFromSchema>

/** All children, or an error and none. `memory` says whether the parent's processes go on in them, `reason` why not. */
export type ForkResult<Child extends Sandbox = Sandbox> = MemoryOutcome & {
  readonly children: readonly Child[]
  /** How long the parent stood still. */
  readonly pausedMs: number
}

export const CHANGE_KINDS = ['added', 'changed', 'removed'] as const

/** One difference in the file system. A directory that was added is followed by what is in it; of one removed, only itself is named. */
export interface FileChange {
  readonly path: string
  readonly change: (typeof CHANGE_KINDS)[number]
  readonly type: 'file' | 'directory' | 'symlink' | 'other'
  /** Of the new state; of the old one for what was removed, where it is known. */
  readonly sizeBytes: number
  /** Only when it was asked for, of files up to a limit. */
  readonly content?: Uint8Array
}

export const diffOptionsSchema = z.strictObject({
  /** `template`: everything since it was made of its template. `origin`: since the snapshot or fork that it came from, else as `template`. Or a snapshot. Default `origin`. */
  since: z.union([z.enum(['template', 'origin']), snapshotIdSchema]).optional(),
  /** Only below these. */
  paths: z.array(z.string().max(BOUNDS.pathBytes)).max(1000).optional(),
  /** Also the content of added and changed files of up to this many bytes each. */
  contentBytes: z
    .int()
    .min(0)
    .max(16 * 1024 * 1024)
    .optional(),
})
export type DiffOptions = z.input<typeof diffOptionsSchema> & { readonly signal?: AbortSignal }

export const mergeOptionsSchema = z.strictObject({
  /** Only what the child changed at or below these. */
  paths: z.array(z.string().max(BOUNDS.pathBytes)).max(1000).optional(),
})
export type MergeOptions = z.input<typeof mergeOptionsSchema> & { readonly signal?: AbortSignal }

export interface MergeResult {
  /** What was brought into the parent. */
  readonly applied: readonly FileChange[]
  /** Changed on both sides since the fork. If there is any, nothing was applied. */
  readonly conflicts: readonly { readonly path: string; readonly reason: string }[]
}

/** For `memory: 'required'` where it cannot be. */
export function memoryRefused(reason: string): HearthError {
  return new HearthError('memory_unsupported', `the memory of this sandbox cannot be captured: ${reason}`, {
    context: { reason },
  })
}

/** For a name that another snapshot has. */
export function nameTaken(name: string | null): HearthError {
  return new HearthError('conflict', `another snapshot is called ${name}`, {
    context: { name },
    suggestion: `Choose another name, or remove that one first: \`hearth snapshot rm ${name}\`.`,
  })
}
