import {
  addRepositorySchema,
  HearthError,
  newRepositoryId,
  parseInput,
  type AddRepository,
  type HostKeyView,
  type RepositoryView,
} from '@hearth/contract'
import type { Caller, KeyedCall, Page, PageQuery, RepositoryControl } from '../control-plane.ts'
import { requireScope } from '../http/access/scopes.ts'
import type { RepositoryLocation, RepositoryRecord } from '../state/index.ts'
import { fetchRepository } from './fetching.ts'
import { findRepository } from './finding.ts'
import { parseRemote, type Remote } from './git/remote.ts'
import { needsKey, requireBound } from './git/remote-reach.ts'
import { keyedWork } from './keyed-work.ts'
import { removeRepository } from './removing.ts'
import { hostKeyView, repositoryView } from './views.ts'
import type { WorkspaceContext } from './workspace-context.ts'

/** The repositories of a tenant on this host. */
export class LocalRepositories implements RepositoryControl {
  readonly #context: WorkspaceContext
  readonly #requireOpen: () => void

  constructor(context: WorkspaceContext, requireOpen: () => void) {
    this.#context = context
    this.#requireOpen = requireOpen
  }

  async add(caller: Caller, request: AddRepository, call: KeyedCall): Promise<RepositoryView> {
    this.#requireOpen()
    const location = await this.locate(caller, request)
    const { tenantId } = caller
    const asked = { tenantId, kind: 'repository.add', request: { location } }
    return await keyedWork(this.#context, asked, call, (signal) => this.addAt(tenantId, location, signal))
  }

  /** What was asked for, with what the caller may do. */
  async locate(caller: Caller, request: AddRepository): Promise<RepositoryLocation> {
    const { url, path, secret, forge, forgeSecret } = parseInput(addRepositorySchema, request, 'request')
    if (path !== undefined) requireScope(caller.scopes, 'operator')
    const remote = parseRemote(url === undefined ? { path } : { url })
    const { secrets } = this.#context.store
    if (secret !== undefined) requireBound(remote, await secrets.get(caller.tenantId, secret))
    else await this.#requireKey(caller, remote)
    if (forgeSecret !== undefined) await secrets.get(caller.tenantId, forgeSecret)
    return {
      url: url === undefined ? null : remote.address,
      path: path ?? null,
      secret: secret ?? null,
      forge: forge ?? null,
      forgeSecret: forgeSecret ?? null,
      anywhere: caller.scopes.has('operator'),
    }
  }

  /** Before anything is written down: with ssh nothing is open to everybody. */
  async #requireKey({ tenantId }: Caller, remote: Remote): Promise<void> {
    if (remote.protocol !== 'ssh') return
    const { store, hostId } = this.#context
    const known = await store.repositories.at(tenantId, hostId, remote.address)
    if (known === null || known.secret === null) throw needsKey(remote)
  }

  async addAt(tenantId: string, location: RepositoryLocation, signal?: AbortSignal): Promise<RepositoryView> {
    return repositoryView(await this.ensure(tenantId, location, signal))
  }

  /** Known, and cloned. */
  async ensure(tenantId: string, location: RepositoryLocation, signal?: AbortSignal): Promise<RepositoryRecord> {
    const { store, hostId, turns } = this.#context
    const { id } = await store.repositories.add({ id: newRepositoryId(), tenantId, hostId, location })
    return await turns.of(id, async () => {
      const known = await findRepository(this.#context, tenantId, id)
      if (known.state === 'ready') return known
      const added = await fetchRepository(this.#context, known, signal)
      const data = { repository: id, address: location.url ?? location.path }
      await store.events.append({ tenantId, sandboxId: null, type: 'repository.added', data })
      return added
    })
  }

  async list(caller: Caller, { limit, cursor }: PageQuery): Promise<Page<RepositoryView>> {
    this.#requireOpen()
    const query = { limit, ...(cursor === null ? {} : { cursor }) }
    const { items, next } = await this.#context.store.repositories.list(caller.tenantId, query)
    return { items: items.filter(({ state }) => state !== 'deleting').map(repositoryView), next }
  }

  async get(caller: Caller, id: string): Promise<RepositoryView> {
    this.#requireOpen()
    return repositoryView(await findRepository(this.#context, caller.tenantId, id))
  }

  async fetch(caller: Caller, id: string, signal: AbortSignal): Promise<RepositoryView> {
    this.#requireOpen()
    const { id: found } = await findRepository(this.#context, caller.tenantId, id)
    return await this.#context.turns.of(found, async () => {
      const known = await findRepository(this.#context, caller.tenantId, found)
      return repositoryView(await fetchRepository(this.#context, known, signal))
    })
  }

  async remove(caller: Caller, id: string): Promise<void> {
    this.#requireOpen()
    const { id: found } = await findRepository(this.#context, caller.tenantId, id)
    await this.#context.turns.of(found, async () =>
      removeRepository(this.#context, await findRepository(this.#context, caller.tenantId, found)),
    )
  }

  async hostKeys(caller: Caller, { limit, cursor }: PageQuery): Promise<Page<HostKeyView>> {
    this.#requireOpen()
    const query = { limit, ...(cursor === null ? {} : { cursor }) }
    const { items, next } = await this.#context.store.hostKeys.list(caller.tenantId, query)
    return { items: items.map(hostKeyView), next }
  }

  async forgetHostKey({ tenantId }: Caller, host: string): Promise<void> {
    this.#requireOpen()
    if (await this.#context.store.hostKeys.forget(tenantId, host)) return
    throw new HearthError('not_found', 'no key is kept of this server', {
      suggestion: '`hearth repo host-keys` lists those that are.',
    })
  }
}
