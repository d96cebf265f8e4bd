import {
  commitRequestSchema,
  HearthError,
  parseInput,
  pullRequestRequestSchema,
  pushRequestSchema,
  updateWorkspaceSchema,
  workspaceIdSchema,
  workspaceSourceSchema,
  type Collected,
  type CollectRequest,
  type CommitRequest,
  type CommitView,
  type DiffSince,
  type PullRequestRequest,
  type PullRequestResult,
  type PushRequest,
  type PushView,
  type UpdateWorkspace,
  type WorkspaceDiffView,
  type WorkspaceSource,
  type WorkspaceStatus,
  type WorkspaceView,
} from '@hearth/contract'
import { changedLines } from '@hearth/engine/git'
import type { Caller, KeyedCall, Page, PageQuery, WorkspaceControl } from '../control-plane.ts'
import type { Operation, RepositoryLocation, WorkspaceRecord } from '../state/index.ts'
import { collect } from './collecting.ts'
import { findRepository, findWorkspace, requireReady } from './finding.ts'
import { finishWork, keyedWork } from './keyed-work.ts'
import type { LocalRepositories } from './local-repositories.ts'
import { makeWorkspace, type Wanted } from './making.ts'
import { commitWorkspace, diffWorkspace, pushWorkspace } from './publishing.ts'
import { askForMerge } from './pull-requests.ts'
import { removeWorkspace } from './removing.ts'
import { workspaceView } from './views.ts'
import { cacheOf, type WorkspaceContext } from './workspace-context.ts'
import { treeState } from './workspace-tree.ts'

/** What a workspace is made of, when it was checked. */
type Origin = { readonly repository: string } | { readonly location: RepositoryLocation }

type Work = (record: WorkspaceRecord, signal?: AbortSignal) => Promise<unknown>

/** The workspaces of a tenant on this host. */
export class LocalWorkspaces implements WorkspaceControl {
  readonly #context: WorkspaceContext
  readonly #repositories: LocalRepositories
  readonly #requireOpen: () => void

  constructor(context: WorkspaceContext, repositories: LocalRepositories, requireOpen: () => void) {
    this.#context = context
    this.#repositories = repositories
    this.#requireOpen = requireOpen
  }

  async create(caller: Caller, source: WorkspaceSource, call: KeyedCall): Promise<WorkspaceView> {
    this.#requireOpen()
    const { tenantId } = caller
    const { repository, ref, branch, fetch, diskBytes, ...location } = parseInput(
      workspaceSourceSchema,
      source,
      'request',
    )
    const wanted: Wanted = { ref, branch, fetch, diskBytes }
    const origin: Origin =
      repository === undefined ? { location: await this.#repositories.locate(caller, location) } : { repository }
    if (repository !== undefined) await findRepository(this.#context, tenantId, repository)
    const asked = { tenantId, kind: 'workspace.create', request: { origin, wanted } }
    return await keyedWork(this.#context, asked, call, (signal) => this.#make(tenantId, origin, wanted, signal))
  }

  async #make(tenantId: string, origin: Origin, wanted: Wanted, signal?: AbortSignal): Promise<WorkspaceView> {
    const repository =
      'repository' in origin
        ? await findRepository(this.#context, tenantId, origin.repository)
        : await this.#repositories.ensure(tenantId, origin.location, signal)
    return await this.#view(await makeWorkspace(this.#context, repository, wanted, signal))
  }

  /** For a sandbox that is being made: one that is there, or a new one. */
  async forSandbox(caller: Caller, workspace: string | WorkspaceSource, call: KeyedCall): Promise<WorkspaceRecord> {
    const { tenantId } = caller
    const id =
      typeof workspace === 'string'
        ? parseInput(workspaceIdSchema, workspace, 'request.workspace')
        : (await this.create(caller, workspace, call)).id
    const record = await findWorkspace(this.#context, tenantId, id)
    requireReady(record)
    return record
  }

  async list(caller: Caller, { limit, cursor }: PageQuery): Promise<Page<WorkspaceView>> {
    this.#requireOpen()
    const { store } = this.#context
    const query = { limit, ...(cursor === null ? {} : { cursor }) }
    const { items, next } = await store.workspaces.list(caller.tenantId, query)
    const alive = await store.workspaces.alive(items.flatMap(({ sandboxId }) => sandboxId ?? []))
    return { items: items.map((record) => workspaceView(record, alive)), next }
  }

  async get(caller: Caller, id: string): Promise<WorkspaceView> {
    this.#requireOpen()
    return await this.#view(await findWorkspace(this.#context, caller.tenantId, id))
  }

  async update(caller: Caller, id: string, change: UpdateWorkspace): Promise<WorkspaceView> {
    this.#requireOpen()
    const { pinned, lifetime, branch } = parseInput(updateWorkspaceSchema, change, 'request')
    const found = await findWorkspace(this.#context, caller.tenantId, id)
    const patch = {
      ...(pinned === undefined ? {} : { pinned }),
      ...(lifetime === undefined ? {} : { lifetime }),
      ...(branch === undefined ? {} : { branch }),
    }
    const record = await this.#context.store.workspaces.patch(found.id, patch)
    if (record === null)
      throw new HearthError('workspace_in_use', `workspace ${id} is ${found.state}`, { context: { workspace: id } })
    return await this.#view(record)
  }

  async remove(caller: Caller, id: string): Promise<void> {
    this.#requireOpen()
    const { tenantId } = caller
    const found = await findWorkspace(this.#context, tenantId, id)
    await this.#context.turns.of(found.id, async () =>
      removeWorkspace(this.#context, await findWorkspace(this.#context, tenantId, found.id)),
    )
  }

  async status(caller: Caller, id: string, signal: AbortSignal): Promise<WorkspaceStatus> {
    return await this.#inTurn(caller.tenantId, id, async (record) => {
      requireReady(record)
      const { tree, dirty, unpushed, skipped } = await treeState(this.#context, record, signal)
      const { directory } = cacheOf(this.#context, record.repositoryId)
      const files = await changedLines(directory, record.base, tree, { signal })
      return { dirty, unpushed, files, skipped: [...skipped] }
    })
  }

  async diff(caller: Caller, id: string, since: DiffSince, signal: AbortSignal): Promise<WorkspaceDiffView> {
    return await this.#inTurn(caller.tenantId, id, async (record) => {
      if (record.state !== 'evicted') requireReady(record)
      return await diffWorkspace(this.#context, record, since, signal)
    })
  }

  async commit(caller: Caller, id: string, request: CommitRequest, call: KeyedCall): Promise<CommitView> {
    const asked = parseInput(commitRequestSchema, request, 'request')
    return (await this.#keyed(caller, id, 'workspace.commit', asked, call)) as CommitView
  }

  async push(caller: Caller, id: string, request: PushRequest, call: KeyedCall): Promise<PushView> {
    const asked = parseInput(pushRequestSchema, request, 'request')
    return (await this.#keyed(caller, id, 'workspace.push', asked, call)) as PushView
  }

  async pullRequest(
    caller: Caller,
    id: string,
    request: PullRequestRequest,
    call: KeyedCall,
  ): Promise<PullRequestResult> {
    const asked = parseInput(pullRequestRequestSchema, request, 'request')
    return (await this.#keyed(caller, id, 'workspace.pull-request', asked, call)) as PullRequestResult
  }

  async collect(caller: Caller, request: CollectRequest): Promise<Collected> {
    this.#requireOpen()
    return await collect(this.#context, caller.tenantId, request)
  }

  /** What a former life of the server had begun for somebody who will ask again. */
  async recover(operation: Operation): Promise<void> {
    const { tenantId, kind } = operation
    const request = operation.request as Record<string, unknown> & { readonly host: string }
    if (request.host !== this.#context.hostId) {
      await this.#context.store.operations.release(operation, { delayMs: this.#context.leaseMs })
      return
    }
    await finishWork(this.#context, operation, async (signal) => {
      if (kind === 'repository.add')
        return await this.#repositories.addAt(tenantId, request['location'] as RepositoryLocation, signal)
      if (kind === 'workspace.create')
        return await this.#make(tenantId, request['origin'] as Origin, request['wanted'] as Wanted, signal)
      return await this.#inTurn(tenantId, String(request['workspace']), async (record) => {
        requireReady(record)
        return await this.#workOf(kind, request['request'])(record, signal)
      })
    })
  }

  async #keyed(caller: Caller, id: string, kind: string, request: unknown, call: KeyedCall): Promise<unknown> {
    this.#requireOpen()
    const { tenantId } = caller
    const found = await findWorkspace(this.#context, tenantId, id)
    const asked = { tenantId, kind, request: { workspace: found.id, request } }
    return await keyedWork(this.#context, asked, call, (signal) =>
      this.#inTurn(tenantId, found.id, async (record) => {
        requireReady(record)
        return await this.#workOf(kind, request)(record, signal)
      }),
    )
  }

  /** All of these can be repeated: what was done already is found to be done. */
  #workOf(kind: string, request: unknown): Work {
    const context = this.#context
    const asked = request as never
    if (kind === 'workspace.commit') return (record, signal) => commitWorkspace(context, record, asked, signal)
    if (kind === 'workspace.push') return (record, signal) => pushWorkspace(context, record, asked, signal)
    if (kind === 'workspace.pull-request') return (record, signal) => askForMerge(context, record, asked, signal)
    throw new HearthError('internal', `nobody knows what ${kind} is`)
  }

  async #inTurn<T>(tenantId: string, id: string, work: (record: WorkspaceRecord) => Promise<T>): Promise<T> {
    this.#requireOpen()
    const found = await findWorkspace(this.#context, tenantId, id)
    return await this.#context.turns.of(found.id, async () =>
      work(await findWorkspace(this.#context, tenantId, found.id)),
    )
  }

  async #view(record: WorkspaceRecord): Promise<WorkspaceView> {
    const alive = await this.#context.store.workspaces.alive(record.sandboxId === null ? [] : [record.sandboxId])
    return workspaceView(record, alive)
  }
}
