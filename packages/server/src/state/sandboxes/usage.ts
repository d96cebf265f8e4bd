import { sql, type RawBuilder } from 'kysely'
import { HearthError, QUOTA_OPTIONS, type Quotas } from '@hearth/contract'
import type { ApiKeyRepository } from '../access/api-keys.ts'
import type { TenantRepository } from '../access/tenants.ts'
import type { Database } from '../database/database.ts'
import { MACHINE_STATES } from '../lifecycle.ts'
import type { NewSnapshot, SnapshotRecord } from '../snapshots/snapshot-record.ts'
import type { NewVolume, VolumeRecord } from '../volumes/volume-record.ts'
import { requireHoldings, type Holdings } from './holdings.ts'
import type { NewSandbox, SandboxRecord } from './sandbox-record.ts'

/** What a tenant holds, in the terms of its quotas. */
export type Usage = Quotas

/** A sandbox that has ended holds nothing: its disk went with its machine. One that is hibernated holds its disk, and its memory there where its processes are kept. A snapshot holds what it takes until it is removed, a volume what it may take; that of a workspace counts with this. The cache of a repository holds what it takes. */
export async function countUsage({ query }: Database, tenantId: string): Promise<Usage> {
  const { rows } = await held(tenantId).execute(query)
  const [row] = rows
  if (row === undefined) throw new Error('a sum has no row')
  const { cpus, memory, disk, asleep, captured, kept, checked_out, cached } = row
  return {
    sandboxes: row.sandboxes,
    cpus: cpus ?? 0,
    memoryBytes: memory ?? 0,
    diskBytes: [disk, asleep, captured, kept, checked_out, cached].reduce<number>((sum, part) => sum + (part ?? 0), 0),
    snapshots: row.snapshots,
    volumes: row.volumes,
  }
}

interface HeldRow extends Record<
  'cpus' | 'memory' | 'disk' | 'asleep' | 'captured' | 'kept' | 'checked_out' | 'cached',
  number | null
> {
  readonly sandboxes: number
  readonly snapshots: number
  readonly volumes: number
}

const MACHINES = sql.raw(MACHINE_STATES.map((state) => `'${state}'`).join(', '))

/** Written out: every create asks for it while it holds the lock of its tenant, and building it would take longer than running it. */
function held(tenantId: string): RawBuilder<HeldRow> {
  return sql<HeldRow>`select
    count(*) as sandboxes, sum(cpus) as cpus, sum(memory_bytes) as memory, sum(disk_bytes) as disk,
    (select sum(disk_bytes + case when hibernation like '{"memory":true%' then memory_bytes else 0 end)
      from sandboxes where tenant_id = ${tenantId} and state = 'hibernated') as asleep,
    (select count(*) from snapshots where tenant_id = ${tenantId}) as snapshots,
    (select sum(bytes) from snapshots where tenant_id = ${tenantId}) as captured,
    (select count(*) from volumes where tenant_id = ${tenantId} and workspace_id is null) as volumes,
    (select sum(disk_bytes) from volumes where tenant_id = ${tenantId} and workspace_id is null) as kept,
    (select sum(disk_bytes) from workspaces where tenant_id = ${tenantId} and state != 'evicted') as checked_out,
    (select sum(bytes) from repositories where tenant_id = ${tenantId}) as cached
    from sandboxes where tenant_id = ${tenantId} and state in (${MACHINES})`
}

interface QuotaSession {
  readonly tenants: Pick<TenantRepository, 'lock'>
  readonly apiKeys: Pick<ApiKeyRepository, 'holders'>
  readonly sandboxes: {
    usage(tenantId: string): Promise<Usage>
    holdings(path: string): Promise<Holdings>
    insert(input: NewSandbox): Promise<SandboxRecord>
  }
}

/**
 * Inserts a sandbox unless its tenant would then hold more than its quota (`quota_exceeded`), or who has delegated it more than its grant.
 * Only inside a transaction: the tenant's row stays locked until it ends, so that no two creates count the same room.
 */
export async function createWithinQuota(session: QuotaSession, input: NewSandbox): Promise<SandboxRecord> {
  const { cpus, memoryBytes, diskBytes } = input.limits
  await requireQuota(session, input.tenantId, { sandboxes: 1, cpus, memoryBytes, diskBytes })
  const record = await session.sandboxes.insert(input)
  if (record.holder !== null) await requireHoldings(session, record.holder)
  return record
}

/** The same for a snapshot. */
export async function snapshotWithinQuota(
  session: QuotaSession & { readonly snapshots: { insert(input: NewSnapshot): Promise<SnapshotRecord> } },
  input: NewSnapshot,
): Promise<SnapshotRecord> {
  await requireQuota(session, input.tenantId, { snapshots: 1, diskBytes: input.bytes })
  return await session.snapshots.insert(input)
}

/** The same for a volume, which counts with what it may hold. */
export async function volumeWithinQuota(
  session: QuotaSession & { readonly volumes: { insert(input: NewVolume): Promise<VolumeRecord> } },
  input: NewVolume,
): Promise<VolumeRecord> {
  await requireQuota(session, input.tenantId, { volumes: 1, diskBytes: input.diskBytes })
  return await session.volumes.insert(input)
}

/** Refuses with `quota_exceeded` when the tenant would hold more than it may with this. Only inside a transaction, as above. */
export async function requireQuota(session: QuotaSession, tenantId: string, wanted: Partial<Usage>): Promise<void> {
  const { quotas, name: tenant } = await session.tenants.lock(tenantId)
  const used = await session.sandboxes.usage(tenantId)
  for (const [name, more] of Object.entries(wanted) as [keyof Usage, number][]) {
    if (used[name] + more <= quotas[name]) continue
    const message = `quota ${name}: ${used[name]} of ${quotas[name]} are in use, and ${more} more are asked for`
    const context = { quota: name, limit: quotas[name], used: used[name], wanted: more }
    const suggestion = `Delete what is no longer needed (\`hearth quota\` shows what is in use), or let an operator raise it: \`hearth tenant quota ${tenant} ${QUOTA_OPTIONS[name]} ...\`.`
    throw new HearthError('quota_exceeded', message, { context, suggestion })
  }
}
