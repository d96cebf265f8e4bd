import { HearthError, type Quotas } from '@hearth/contract'
import type { TenantRepository } from '../access/tenants.ts'
import type { Database } from '../database/database.ts'
import { ALIVE_STATES } from '../lifecycle.ts'
import type { NewSandbox, SandboxRecord } from './sandbox-record.ts'

/** What a tenant holds, in the terms of its quotas. */
export type Usage = Quotas

/** One that has ended holds nothing: its disk went with its machine. */
export async function countUsage(database: Database, tenantId: string): Promise<Usage> {
  const row = await database.query
    .selectFrom('sandboxes')
    .where('tenant_id', '=', tenantId)
    .where('state', 'in', [...ALIVE_STATES])
    .select(({ fn }) => [
      fn.countAll<number>().as('sandboxes'),
      fn.sum<number | null>('cpus').as('cpus'),
      fn.sum<number | null>('memory_bytes').as('memoryBytes'),
      fn.sum<number | null>('disk_bytes').as('diskBytes'),
    ])
    .executeTakeFirstOrThrow()
  return {
    sandboxes: row.sandboxes,
    cpus: row.cpus ?? 0,
    memoryBytes: row.memoryBytes ?? 0,
    diskBytes: row.diskBytes ?? 0,
  }
}

interface QuotaSession {
  readonly tenants: Pick<TenantRepository, 'lock'>
  readonly sandboxes: {
    usage(tenantId: string): Promise<Usage>
    insert(input: NewSandbox): Promise<SandboxRecord>
  }
}

/**
 * Inserts a sandbox unless its tenant would then hold more than its quota (`quota_exceeded`).
 * Only inside a transaction: the tenant's row stays locked until it ends, so that no two creates count the same room.
 */
export async function createWithinQuota(session: QuotaSession, input: NewSandbox): Promise<SandboxRecord> {
  const { quotas } = await session.tenants.lock(input.tenantId)
  const used = await session.sandboxes.usage(input.tenantId)
  const { cpus, memoryBytes, diskBytes } = input.limits
  const wanted: Usage = { sandboxes: 1, cpus, memoryBytes, diskBytes }
  for (const name of ['sandboxes', 'cpus', 'memoryBytes', 'diskBytes'] as const) {
    if (used[name] + wanted[name] <= quotas[name]) continue
    const message = `quota of ${name}: ${used[name]} of ${quotas[name]} are in use, and ${wanted[name]} more are asked for`
    const context = { quota: name, limit: quotas[name], used: used[name], wanted: wanted[name] }
    throw new HearthError('quota_exceeded', message, { context })
  }
  return await session.sandboxes.insert(input)
}
