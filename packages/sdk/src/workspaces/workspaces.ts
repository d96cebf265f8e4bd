import type { CollectRequest, Collected, WorkspaceSource, WorkspaceView } from '@hearth/contract'
import { checkedId } from '../checks.ts'
import type { KeyedOptions } from '../snapshots/copy-calls.ts'
import { allPages, keyedCall } from '../transport/calls.ts'
import type { CallOptions, HttpClient } from '../transport/http-client.ts'
import { Workspace, workspaceInfo, type WorkspaceInfo } from './workspace.ts'

/** The workspaces of the caller's tenant. */
export class Workspaces {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  /** A writable checkout on a branch of its own. `hearth.create({ workspace: id })` gives it to a sandbox, at `/workspace`. */
  async create(source: WorkspaceSource, options: KeyedOptions = {}): Promise<Workspace> {
    const call = { method: 'POST', path: '/workspaces', json: source, signal: options.signal } as const
    const view = await this.#http.json<WorkspaceView>({ ...call, ...keyedCall(options.idempotencyKey) })
    return new Workspace(this.#http, view)
  }

  /** All, oldest first. */
  async list(options: CallOptions = {}): Promise<WorkspaceInfo[]> {
    return (await allPages<WorkspaceView>(this.#http, '/workspaces', options)).reverse().map(workspaceInfo)
  }

  async get(id: string, options: CallOptions = {}): Promise<Workspace> {
    const call = { method: 'GET', path: `/workspaces/${checkedId(id)}`, signal: options.signal } as const
    return new Workspace(this.#http, await this.#http.json<WorkspaceView>(call))
  }

  /** Evicts what nobody has used for long, least valuable first. Those with changes only where that is asked for, and their changes are kept as patches. */
  async collect(request: CollectRequest = {}, options: CallOptions = {}): Promise<Collected> {
    const call = { method: 'POST', path: '/workspaces/collect', json: request, signal: options.signal } as const
    return await this.#http.json<Collected>({ ...call, timeoutMs: null })
  }
}
