import {
  BOUNDS,
  HearthError,
  type RepositoryId,
  type SandboxId,
  type WorkspaceId,
  type WorkspaceState,
} from '@hearth/contract'
import { atomically, type Database, type Sources } from '../database/database.ts'
import { ALIVE_STATES } from '../lifecycle.ts'
import { newestFirst, type Page, type PageOptions } from '../database/page.ts'
import { requireQuota } from '../sandboxes/usage.ts'
import type { VolumeRepository } from '../volumes/volumes.ts'
import { refusedMove, workspaceSources } from './states.ts'
import {
  decodeWorkspace,
  encodePatch,
  jsonOrNull,
  type NewWorkspace,
  type WorkspacePatch,
  type WorkspaceRecord,
} from './workspace-record.ts'

export class WorkspaceTable {
  readonly #database: Database
  readonly #sources: Sources

  constructor(database: Database, sources: Sources) {
    this.#database = database
    this.#sources = sources
  }

  /** Writes down one that is being made. Does not look at quotas. */
  async insert(input: NewWorkspace): Promise<WorkspaceRecord> {
    const now = this.#sources.now()
    return await atomically(this.#database, async ({ query }) => {
      const row = await query
        .insertInto('workspaces')
        .values({
          id: input.id,
          tenant_id: input.tenantId,
          host_id: input.hostId,
          repository_id: input.repositoryId,
          volume_id: input.volumeId,
          state: 'creating',
          base: input.base,
          parent_id: input.parentId ?? null,
          sandbox_id: input.sandboxId ?? null,
          disk_bytes: input.diskBytes,
          created_at: now,
          used_at: now,
          branch: input.branch,
          lifetime: input.lifetime,
          pinned: 0,
          seed_id: input.seedId,
          head: input.head ?? null,
          pushed: jsonOrNull(input.pushed ?? null),
          pull_request: jsonOrNull(input.pullRequest ?? null),
        })
        .returningAll()
        .executeTakeFirstOrThrow()
      const { count } = await query
        .selectFrom('workspaces')
        .where('tenant_id', '=', input.tenantId)
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow()
      if (Number(count) > BOUNDS.workspaces)
        throw new HearthError('quota_exceeded', `this tenant has ${BOUNDS.workspaces} workspaces, which is the most`)
      return decodeWorkspace(row)
    })
  }

  /** Null also for one of another tenant. */
  async find(tenantId: string, id: string): Promise<WorkspaceRecord | null> {
    const query = this.#database.query.selectFrom('workspaces').selectAll().where('tenant_id', '=', tenantId)
    const row = await query.where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : decodeWorkspace(row)
  }

  /** `conflict` where there is no way from its state to this one. */
  async move(id: WorkspaceId, to: WorkspaceState, patch: WorkspacePatch = {}): Promise<WorkspaceRecord> {
    const query = this.#database.query.updateTable('workspaces').set({ state: to, ...encodePatch(patch) })
    const row = await query
      .where('id', '=', id)
      .where('state', 'in', workspaceSources(to))
      .returningAll()
      .executeTakeFirst()
    if (row === undefined) throw refusedMove('workspace', id, to)
    return decodeWorkspace(row)
  }

  /** As `move`, and only while no sandbox that lives has it: `workspace_in_use` otherwise. */
  async moveFree(id: WorkspaceId, to: 'evicting' | 'deleting'): Promise<WorkspaceRecord> {
    const row = await this.#free(id)
      .set({ state: to })
      .where('state', 'in', workspaceSources(to))
      .returningAll()
      .executeTakeFirst()
    if (row === undefined) throw inUse(id)
    return decodeWorkspace(row)
  }

  /** Of one that is ready, or was evicted; null for one that is neither. */
  async patch(id: WorkspaceId, patch: WorkspacePatch): Promise<WorkspaceRecord | null> {
    const query = this.#database.query
      .updateTable('workspaces')
      .set({ ...encodePatch(patch), used_at: this.#sources.now() })
      .where('id', '=', id)
    const row = await query.where('state', 'in', ['ready', 'evicted']).returningAll().executeTakeFirst()
    return row === undefined ? null : decodeWorkspace(row)
  }

  /** One writer: the sandbox has it from now on, as long as it lives. `workspace_in_use` while another has it. */
  async lease(id: WorkspaceId, sandboxId: SandboxId): Promise<void> {
    const row = await this.#free(id)
      .set({ sandbox_id: sandboxId, used_at: this.#sources.now() })
      .where('state', '=', 'ready')
      .returning('id')
      .executeTakeFirst()
    if (row === undefined) throw inUse(id)
  }

  #free(id: WorkspaceId) {
    return this.#database.query
      .updateTable('workspaces')
      .where('id', '=', id)
      .where((where) =>
        where.or([
          where('sandbox_id', 'is', null),
          where.not(
            where.exists(
              where
                .selectFrom('sandboxes')
                .select('sandboxes.id')
                .whereRef('sandboxes.id', '=', 'workspaces.sandbox_id')
                .where('sandboxes.state', 'in', [...ALIVE_STATES]),
            ),
          ),
        ]),
      )
  }

  async list(tenantId: string, options: PageOptions): Promise<Page<WorkspaceRecord>> {
    const query = this.#database.query.selectFrom('workspaces').selectAll().where('tenant_id', '=', tenantId)
    return await newestFirst(query.where('state', '!=', 'deleting'), options, decodeWorkspace)
  }

  /** Which of these sandboxes live. */
  async alive(sandboxes: readonly SandboxId[]): Promise<ReadonlySet<string>> {
    if (sandboxes.length === 0) return new Set()
    const query = this.#database.query
      .selectFrom('sandboxes')
      .select('id')
      .where('id', 'in', [...sandboxes])
    const rows = await query.where('state', 'in', [...ALIVE_STATES]).execute()
    return new Set(rows.map(({ id }) => id))
  }

  /** Those of a host in one of these states, the longest unused first. */
  async ofHost(hostId: string, states: readonly WorkspaceState[]): Promise<WorkspaceRecord[]> {
    const query = this.#database.query.selectFrom('workspaces').selectAll().where('host_id', '=', hostId)
    const rows = await query
      .where('state', 'in', [...states])
      .orderBy('used_at')
      .execute()
    return rows.map(decodeWorkspace)
  }

  async ofSandbox(sandboxId: SandboxId): Promise<WorkspaceRecord | null> {
    const query = this.#database.query.selectFrom('workspaces').selectAll().where('sandbox_id', '=', sandboxId)
    const row = await query.where('state', 'in', ['creating', 'ready']).executeTakeFirst()
    return row === undefined ? null : decodeWorkspace(row)
  }

  /** How many there are of a repository, evicted ones too where they are asked for. */
  async countOf(repositoryId: RepositoryId, options: { readonly evicted: boolean }): Promise<number> {
    let query = this.#database.query.selectFrom('workspaces').where('repository_id', '=', repositoryId)
    if (!options.evicted) query = query.where('state', '!=', 'evicted')
    const { count } = await query.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
    return Number(count)
  }

  /** There is nothing of it any more. */
  async forget(id: WorkspaceId): Promise<void> {
    await this.#database.query.deleteFrom('workspaces').where('id', '=', id).execute()
  }
}

function inUse(id: WorkspaceId): HearthError {
  return new HearthError('workspace_in_use', `workspace ${id} is in use, or is not ready`, {
    context: { workspace: id },
  })
}

type QuotaSession = Parameters<typeof requireQuota>[0]

interface WorkspaceSession extends QuotaSession {
  readonly workspaces: WorkspaceTable
  readonly volumes: Pick<VolumeRepository, 'insert' | 'move' | 'forget'>
}

/** Inserts a workspace and its volume unless its tenant would then hold more than its quota. Only inside a transaction. */
export async function workspaceWithinQuota(session: WorkspaceSession, input: NewWorkspace): Promise<WorkspaceRecord> {
  const { id: workspaceId, volumeId: id, tenantId, hostId, diskBytes } = input
  await requireQuota(session, tenantId, { diskBytes })
  await session.volumes.insert({ id, tenantId, hostId, diskBytes, workspaceId })
  return await session.workspaces.insert(input)
}

/** It is made, with its volume. */
export async function workspaceReady(session: WorkspaceSession, id: WorkspaceId): Promise<WorkspaceRecord> {
  const record = await session.workspaces.move(id, 'ready')
  await session.volumes.move(record.volumeId, 'creating', 'ready')
  return record
}

/** There is nothing of it any more, nor of its volume. */
export async function forgetWorkspace(session: WorkspaceSession, { id, volumeId }: WorkspaceRecord): Promise<void> {
  await session.workspaces.forget(id)
  await session.volumes.forget(volumeId)
}
