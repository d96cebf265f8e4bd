import { z } from 'zod'
import { limitsSchema } from '../limits.ts'
import { rungSchema } from '../rungs.ts'
import { sandboxStateSchema } from '../sandbox-states.ts'
import {
  CHANGE_KINDS,
  childCountSchema,
  forkOptionsSchema,
  mergeOptionsSchema,
  snapshotOptionsSchema,
} from '../snapshots.ts'
import { sandboxViewSchema } from './wire-types.ts'

export const takeSnapshotSchema = snapshotOptionsSchema.meta({ id: 'TakeSnapshot' })

export const snapshotViewSchema = z
  .object({
    id: z.string(),
    /** Of the tenant's snapshots, one alone has it. */
    name: z.string().nullable(),
    sandbox: z.string(),
    parent: z.string().nullable(),
    rung: rungSchema,
    driver: z.string(),
    template: z.string(),
    createdAt: z.iso.datetime(),
    memory: z.boolean(),
    diskBytes: z.number(),
    memoryBytes: z.number(),
    metadata: z.record(z.string(), z.string()),
    limits: limitsSchema.required(),
  })
  .meta({ id: 'Snapshot' })
export type SnapshotView = z.output<typeof snapshotViewSchema>

export const forkRequestSchema = forkOptionsSchema.extend({ count: childCountSchema }).meta({ id: 'Fork' })
export type ForkRequest = z.output<typeof forkRequestSchema>

/** Running processes are in the children, or the reason why not. */
export const forkViewSchema = z
  .object({
    children: z.array(sandboxViewSchema),
    memory: z.boolean(),
    reason: z.string().nullable(),
    pausedMs: z.number(),
  })
  .meta({ id: 'ForkResult' })
export type ForkView = z.output<typeof forkViewSchema>

export const fileChangeSchema = z
  .object({
    path: z.string(),
    change: z.enum(CHANGE_KINDS),
    type: z.enum(['file', 'directory', 'symlink', 'other']),
    sizeBytes: z.number(),
    /** Only when it was asked for, of files up to a limit. */
    content: z.base64().optional(),
  })
  .meta({ id: 'FileChange' })
export type FileChangeView = z.output<typeof fileChangeSchema>

export const mergeRequestSchema = mergeOptionsSchema
  .extend({
    /** A sandbox that was forked of this one. */
    child: z.string().max(64),
  })
  .meta({ id: 'Merge' })
export type MergeRequest = z.output<typeof mergeRequestSchema>

export const mergeViewSchema = z
  .object({
    applied: z.array(fileChangeSchema),
    conflicts: z.array(z.object({ path: z.string(), reason: z.string() })),
  })
  .meta({ id: 'MergeResult' })
export type MergeView = z.output<typeof mergeViewSchema>

/** `deleted` is one that has gone while forks of it live. */
export const lineageViewSchema = z
  .object({
    id: z.string(),
    parent: z.string().nullable(),
    origin: z.string().nullable(),
    state: sandboxStateSchema,
    createdAt: z.iso.datetime(),
    metadata: z.record(z.string(), z.string()),
  })
  .meta({ id: 'Lineage' })
export type LineageView = z.output<typeof lineageViewSchema>
