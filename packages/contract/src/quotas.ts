import { z } from 'zod'

const GiB = 1024 ** 3

/**
 * What one tenant may hold at once. All sandboxes count that may have a machine, forks too; of one that is hibernated the
 * disk counts alone. Disks count until they are deleted, and so do snapshots, with what they hold, and volumes, with what they
 * may hold.
 */
export interface Quotas {
  readonly sandboxes: number
  readonly cpus: number
  readonly memoryBytes: number
  readonly diskBytes: number
  readonly snapshots: number
  readonly volumes: number
}

export const DEFAULT_QUOTAS: Quotas = {
  sandboxes: 100,
  cpus: 200,
  memoryBytes: 256 * GiB,
  diskBytes: 1024 * GiB,
  snapshots: 200,
  volumes: 200,
}

/** How the command line calls each quota: what a refusal tells people to type. */
export const QUOTA_OPTIONS: Readonly<Record<keyof Quotas, string>> = {
  sandboxes: '--sandboxes',
  cpus: '--cpus',
  memoryBytes: '--memory',
  diskBytes: '--disk',
  snapshots: '--snapshots',
  volumes: '--volumes',
}

const bound = z.number().min(0).max(Number.MAX_SAFE_INTEGER)

export const quotasSchema = z.strictObject({
  sandboxes: bound.int(),
  cpus: bound,
  memoryBytes: bound.int(),
  diskBytes: bound.int(),
  snapshots: bound.int(),
  volumes: bound.int(),
})
