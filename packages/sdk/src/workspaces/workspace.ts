import type {
  CommitRequest,
  CommitView,
  DiffSince,
  PullRequestRequest,
  PullRequestResult,
  PushRequest,
  PushView,
  UpdateWorkspace,
  WorkspaceDiffView,
  WorkspaceStatus,
  WorkspaceView,
} from '@hearth/contract'
import { checkedId } from '../checks.ts'
import type { KeyedOptions } from '../snapshots/copy-calls.ts'
import { fromBase64 } from '../streams/bytes.ts'
import { keyedCall } from '../transport/calls.ts'
import type { CallOptions, HttpClient } from '../transport/http-client.ts'
import { dated, type Dated } from './dates.ts'

export type WorkspaceInfo = Dated<WorkspaceView, 'createdAt' | 'usedAt'>

export interface WorkspaceDiff extends Omit<WorkspaceDiffView, 'patch'> {
  readonly patch: Uint8Array
}

/** A durable checkout. Whatever git does here is done on the host, from the files as they are at that moment: no token is ever in a sandbox. */
export class Workspace {
  readonly id: string
  readonly #http: HttpClient
  #info: WorkspaceInfo

  constructor(http: HttpClient, view: WorkspaceView) {
    this.#http = http
    this.#info = workspaceInfo(view)
    this.id = checkedId(this.#info.id)
  }

  /** As the server last told it. */
  get info(): WorkspaceInfo {
    return this.#info
  }

  async refresh(options: CallOptions = {}): Promise<WorkspaceInfo> {
    return this.#know(await this.#get<WorkspaceView>('', options))
  }

  /** Looks at the files. */
  async status(options: CallOptions = {}): Promise<WorkspaceStatus> {
    return await this.#get<WorkspaceStatus>('/status', options)
  }

  /** What changed since its base, or since the last `commit`; also of one that was evicted. */
  async diff(options: { readonly since?: DiffSince } & CallOptions = {}): Promise<WorkspaceDiff> {
    const view = await this.#get<WorkspaceDiffView>('/diff', options, { since: options.since })
    return { ...view, patch: fromBase64(view.patch) }
  }

  /** Writes its files down as a commit on its branch. */
  async commit(request: CommitRequest, options: KeyedOptions = {}): Promise<CommitView> {
    return await this.#post<CommitView>('/commit', request, options)
  }

  /** Sends the last commit to the server of the repository. */
  async push(request: PushRequest = {}, options: KeyedOptions = {}): Promise<PushView> {
    return await this.#post<PushView>('/push', request, options)
  }

  /** Asks for what was pushed to be merged. One that is open for the branch already is given. */
  async pullRequest(request: PullRequestRequest, options: KeyedOptions = {}): Promise<PullRequestResult> {
    return await this.#post<PullRequestResult>('/pull-request', request, options)
  }

  /** Under this name it is pushed from now on. */
  async branch(name: string, options: CallOptions = {}): Promise<WorkspaceInfo> {
    return await this.update({ branch: name }, options)
  }

  /** One that is pinned is never evicted. */
  async pin(pinned = true, options: CallOptions = {}): Promise<WorkspaceInfo> {
    return await this.update({ pinned }, options)
  }

  /** Keeps the workspace of a fork when its sandbox ends. */
  async keep(options: CallOptions = {}): Promise<WorkspaceInfo> {
    return await this.update({ lifetime: 'durable' }, options)
  }

  async update(change: UpdateWorkspace, options: CallOptions = {}): Promise<WorkspaceInfo> {
    const call = { method: 'PUT', path: this.#path(''), json: change, signal: options.signal } as const
    return this.#know(await this.#http.json<WorkspaceView>({ ...call, repeatable: true }))
  }

  /** With all that is in it. Refused with `workspace_in_use` while a sandbox has it. */
  async remove(options: CallOptions = {}): Promise<void> {
    await this.#http.done({ method: 'DELETE', path: this.#path(''), signal: options.signal, timeoutMs: null })
  }

  #path(below: string): string {
    return `/workspaces/${this.id}${below}`
  }

  #know(view: WorkspaceView): WorkspaceInfo {
    this.#info = workspaceInfo(view)
    return this.#info
  }

  async #get<View>(below: string, options: CallOptions, query: Record<string, string | undefined> = {}): Promise<View> {
    const call = { method: 'GET', path: this.#path(below), query, signal: options.signal } as const
    return await this.#http.json<View>({ ...call, timeoutMs: null })
  }

  async #post<View>(below: string, json: unknown, options: KeyedOptions): Promise<View> {
    const call = { method: 'POST', path: this.#path(below), json, signal: options.signal } as const
    return await this.#http.json<View>({ ...call, ...keyedCall(options.idempotencyKey) })
  }
}

export function workspaceInfo(view: WorkspaceView): WorkspaceInfo {
  return dated(view, ['createdAt', 'usedAt'])
}
