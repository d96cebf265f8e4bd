import {
  CODE_LANGUAGES,
  limitsSchema,
  rungSchema,
  sandboxIdSchema,
  snapshotIdSchema,
  snapshotNameSchema,
  type SnapshotId,
} from '@hearth/contract'
import { z } from 'zod'

/** Why it was made: by a call, for the children of a fork, to sleep, or as the start of every sandbox of a template. */
export const SNAPSHOT_KINDS = ['snapshot', 'fork', 'hibernation', 'baked'] as const

/** How the captured bytes lie in `disk` of the snapshot. */
const diskSchema = z.discriminatedUnion('kind', [
  /** A read-only btrfs subvolume. */
  z.object({ kind: z.literal('subvolume') }),
  /** What changed; `layers` are the snapshots below it, topmost first. */
  z.object({ kind: z.literal('layer'), layers: z.array(snapshotIdSchema) }),
  /** An archive of the whole root. */
  z.object({ kind: z.literal('tree') }),
])
export type CapturedDisk = z.output<typeof diskSchema>

/** Files of the runtime's own in `memory`. `facts` is what must be equal for a restore. */
const memorySchema = z.object({
  runtime: z.enum(['runsc', 'qemu']),
  bytes: z.int().min(0),
  facts: z.record(z.string(), z.union([z.string(), z.number()])),
})
export type MemoryCapture = z.output<typeof memorySchema>

/** An interpreter of `runCode` among the captured processes. `mark` ends the cell that it was running, from `offset` of its output on. */
export const interpreterSchema = z.object({
  language: z.enum(CODE_LANGUAGES),
  context: z.string(),
  process: z.int().min(1),
  offset: z.int().min(0),
  mark: z.string().nullable(),
})
export type CapturedInterpreter = z.output<typeof interpreterSchema>

/** A volume of the sandbox. It is no part of the snapshot, unless it was copied for the children of a fork. */
const volumeSchema = z.object({
  path: z.string(),
  readOnly: z.boolean(),
  copy: z.enum(['subvolume', 'directory']).nullable(),
})
export type CapturedVolume = Readonly<z.output<typeof volumeSchema>>

export const snapshotManifestSchema = z.object({
  version: z.literal(1),
  kind: z.enum(SNAPSHOT_KINDS),
  info: z.object({
    id: snapshotIdSchema,
    name: snapshotNameSchema.nullable(),
    sandbox: sandboxIdSchema,
    parent: snapshotIdSchema.nullable(),
    rung: rungSchema,
    driver: z.string(),
    template: z.string(),
    createdAt: z.coerce.date(),
    memory: z.boolean(),
    diskBytes: z.int().min(0),
    memoryBytes: z.int().min(0),
    metadata: z.record(z.string(), z.string()),
    limits: limitsSchema.required(),
  }),
  /** The template stays as long as this snapshot. */
  templateDigest: z.string(),
  /** Of the `host` template that its processes were started with; null for any other. */
  hostTools: z.string().nullable().default(null),
  disk: diskSchema,
  memory: memorySchema.nullable(),
  interpreters: z.array(interpreterSchema).default([]),
  /** What the sandbox was configured with. */
  configuration: z.object({
    hostname: z.string(),
    environment: z.record(z.string(), z.string()),
    workdir: z.string(),
    user: z.string(),
  }),
  volumes: z.array(volumeSchema).default([]),
})
export type SnapshotManifest = z.output<typeof snapshotManifestSchema>

/** Made for somebody else than a person: it goes when nothing refers to it any more. */
export function isPassing({ kind }: Pick<SnapshotManifest, 'kind'>): boolean {
  return kind === 'fork' || kind === 'hibernation'
}

export interface StoredSnapshot {
  readonly id: SnapshotId
  readonly directory: string
  readonly manifest: SnapshotManifest
  /** While it is being taken: the subvolume that it is taken of, which stands still and is as good. */
  readonly still?: string
  /** Why the processes that were captured in it are left out. */
  readonly filesAlone?: string
}
