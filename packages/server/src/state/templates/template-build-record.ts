import type { Selectable } from 'kysely'
import type { Limits, SnapshotId } from '@hearth/contract'
import type { TemplateBuildsTable } from '../database/tables.ts'

export type TemplateBuildState = 'waiting' | 'building' | 'ready' | 'error'

/** One build of a template. */
export interface TemplateBuild {
  readonly id: string
  readonly tenantId: string
  /** Of the template. */
  readonly name: string
  /** Under which sandboxes are made of it. A build that is ready and has none is nobody's any more. */
  readonly tags: readonly string[]
  /** Of its sandbox, and of those that are made of it. */
  readonly limits: Partial<Limits>
  /** Who runs commands in sandboxes of it; null for whoever does so in its root. Known when it is begun. */
  readonly user: string | null
  readonly state: TemplateBuildState
  /** What it became. */
  readonly snapshotId: SnapshotId | null
  /** It was taken of a sandbox and given this name: it stays when no tag leads to it any more. */
  readonly adopted: boolean
  /** Where it is carried out. */
  readonly sandboxId: string | null
  readonly reason: { readonly message: string; readonly step: string } | null
  readonly createdAt: number
  /** Whoever carries it out writes this down again and again. */
  readonly updatedAt: number
}

export type NewTemplateBuild = Pick<TemplateBuild, 'tenantId' | 'name' | 'tags' | 'limits'>

export function decodeTemplateBuild(row: Selectable<TemplateBuildsTable>): TemplateBuild {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    tags: JSON.parse(row.tags) as string[],
    limits: JSON.parse(row.limits) as Partial<Limits>,
    user: row.user,
    state: row.state,
    snapshotId: row.snapshot_id as SnapshotId | null,
    adopted: row.adopted === 1,
    sandboxId: row.sandbox_id,
    reason: row.reason === null ? null : (JSON.parse(row.reason) as TemplateBuild['reason']),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
