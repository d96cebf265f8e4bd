import type {
  AddRepository,
  Collected,
  CollectRequest,
  CommitRequest,
  CommitView,
  CreateSandbox,
  CreateVolume,
  DiffSince,
  DiffOptions,
  FileChange,
  ForkView,
  Grant,
  HostKeyView,
  forkRequestSchema,
  MergeResult,
  Policy,
  PolicyView,
  mergeRequestSchema,
  PullRequestRequest,
  PullRequestResult,
  PushRequest,
  PushView,
  RegistryCredentials,
  RepositoryView,
  Rung,
  Sandbox,
  SandboxState,
  SandboxView,
  Scope,
  SleepOptions,
  SnapshotInfo,
  takeSnapshotSchema,
  TemplateView,
  VolumeView,
  UpdateWorkspace,
  WorkspaceDiffView,
  WorkspaceSource,
  WorkspaceStatus,
  WorkspaceView,
} from '@hearth/contract'
import type { Pool, PrivateImage, PrivatePull, RungReport } from '@hearth/engine'
import type { z } from 'zod'
import type { ApiKey, DelegatedKey, SandboxRecord } from './state/index.ts'

/** Who calls: found by the key, once per request. What it may see and do follows from this alone. */
export interface Caller {
  readonly tenantId: string
  readonly keyId: string
  readonly scopes: ReadonlySet<Scope>
  readonly requestId: string
  /** Of a key that was delegated: it sees what was made under it, and makes nothing that is more than its grant. */
  readonly holder: Holder | null
}

export interface Holder {
  readonly grant: Grant
  /** The keys from the first maker to this one, each followed by `/`: the beginning of the path of all that was made under it. */
  readonly path: string
}

export interface ListQuery {
  readonly limit: number
  readonly cursor: string | null
  readonly state: SandboxState | null
  /** Any of these; `state` counts where it is given. */
  readonly states?: readonly SandboxState[]
  readonly rung: Rung | null
  readonly metadata: Readonly<Record<string, string>>
}

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Passed as `cursor` for the next page; null at the end. */
  readonly next: string | null
}

export interface PageQuery {
  readonly limit: number
  readonly cursor: string | null
}

/** A sandbox in use: it is awake, it counts as active, and idleness cannot end it until it is let go. */
export interface SandboxUse extends Disposable {
  readonly sandbox: Sandbox
}

/** The key that a new sandbox gets for itself: whose part it is, and what it may. */
export interface SandboxKey {
  readonly maker: ApiKey
  readonly key: DelegatedKey
}

export interface KeyedCall {
  /** The same key with the same request gives the same outcome; with another request, `idempotency_conflict`. */
  readonly idempotencyKey: string | null
  readonly signal: AbortSignal
}

/** How sandboxes are captured, copied and compared. Tenancy as in `ControlPlane`. */
export interface CopyControl {
  /** Captures it as it is now; it goes on. */
  snapshot(
    caller: Caller,
    id: string,
    request: z.input<typeof takeSnapshotSchema>,
    call: KeyedCall,
  ): Promise<SnapshotInfo>
  /** Copies of it as it is now: all of them, or an error and none. It goes on in any case. */
  fork(caller: Caller, id: string, request: z.input<typeof forkRequestSchema>, call: KeyedCall): Promise<ForkView>
  diff(caller: Caller, id: string, options: DiffOptions): Promise<FileChange[]>
  /** Brings what a fork of it changed back into it, all or nothing. */
  merge(
    caller: Caller,
    id: string,
    request: z.input<typeof mergeRequestSchema>,
    signal: AbortSignal,
  ): Promise<MergeResult>
  /** All that are related to it by forks, oldest first. */
  tree(caller: Caller, id: string): Promise<readonly SandboxRecord[]>
}

/** How sandboxes are put to sleep and woken by name. Tenancy as in `ControlPlane`. */
export interface SleepControl {
  /** Writes it down and ends its machine. Does nothing to one that is hibernated. */
  hibernate(caller: Caller, id: string, options: SleepOptions): Promise<SandboxView>
  /** Gives it its machine again; resumes one that is paused. Does nothing to one that runs. */
  wake(caller: Caller, id: string, options: SleepOptions): Promise<SandboxView>
}

export interface SnapshotSource {
  readonly name: string | null
  readonly content: AsyncIterable<Uint8Array>
  /** How many bytes come, where that is known. */
  readonly declaredBytes: number | null
  readonly signal: AbortSignal
}

/** What sandboxes may reach. Tenancy as in `ControlPlane`. */
export interface PolicyControl {
  get(caller: Caller, id: string): Promise<PolicyView>
  /** From now on; connections that it does not allow end. */
  set(caller: Caller, id: string, policy: Policy): Promise<PolicyView>
  /** The secret was replaced or removed: sandboxes that use it do so no longer, or with the new value. */
  secretChanged(tenantId: string, secret: string): Promise<void>
}

/** The snapshots of the caller's tenant, by identifier or name: another tenant's is `snapshot_not_found`. */
export interface SnapshotControl {
  list(caller: Caller, query: { readonly limit: number; readonly cursor: string | null }): Promise<Page<SnapshotInfo>>
  get(caller: Caller, snapshot: string): Promise<SnapshotInfo>
  /** `snapshot_in_use` while a sandbox that was made of it lives. */
  remove(caller: Caller, snapshot: string): Promise<void>
  /** All of it but its template, as the bytes of one file. */
  export(caller: Caller, snapshot: string): AsyncIterable<Uint8Array>
  /** What an export gave, as a new snapshot. */
  import(caller: Caller, source: SnapshotSource): Promise<SnapshotInfo>
}

/** The volumes of the caller's tenant, by identifier or name: another tenant's is `volume_not_found`. */
export interface VolumeControl {
  create(caller: Caller, request: CreateVolume, call: KeyedCall): Promise<VolumeView>
  list(caller: Caller, query: { readonly limit: number; readonly cursor: string | null }): Promise<Page<VolumeView>>
  get(caller: Caller, volume: string): Promise<VolumeView>
  /** `volume_in_use` while a sandbox has it. */
  remove(caller: Caller, volume: string): Promise<void>
}

export interface TemplateBuildOptions {
  /** Builds it anew although it exists. */
  readonly force: boolean
  /** For an image of a private registry. */
  readonly credentials: RegistryCredentials | null
  readonly signal: AbortSignal
  /** Told what is being done, line by line. */
  readonly onProgress: (line: string) => void
}

/**
 * The templates of this host, which all tenants share. To one without the scope `operator` the names of images say what others use, so that
 * it sees those that are always there and those of its own sandboxes.
 */
export interface TemplateControl {
  /** By name. */
  list(caller: Caller, query: PageQuery): Promise<Page<TemplateView>>
  build(caller: Caller, name: string, options: TemplateBuildOptions): Promise<TemplateView>
  /** An image for this caller alone, under a name that a create takes until it is disposed of. */
  pull(
    caller: Caller,
    image: PrivateImage,
    options: Pick<TemplateBuildOptions, 'signal' | 'onProgress'>,
  ): Promise<PrivatePull>
  /** `template_in_use` while a sandbox or a snapshot lies on it. */
  remove(caller: Caller, name: string): Promise<void>
}

/** The repositories of the caller's tenant: another tenant's is `repository_not_found`. */
export interface RepositoryControl {
  /** Clones it into the cache of this host. One that is known already is given as it is. A path needs the scope `operator`. */
  add(caller: Caller, request: AddRepository, call: KeyedCall): Promise<RepositoryView>
  list(caller: Caller, query: PageQuery): Promise<Page<RepositoryView>>
  get(caller: Caller, id: string): Promise<RepositoryView>
  fetch(caller: Caller, id: string, signal: AbortSignal): Promise<RepositoryView>
  /** `repository_in_use` while there are workspaces of it. */
  remove(caller: Caller, id: string): Promise<void>
  /** The servers that the tenant speaks to with ssh, as they were known the first time. */
  hostKeys(caller: Caller, query: PageQuery): Promise<Page<HostKeyView>>
  /** The next call takes whatever key the server has then. */
  forgetHostKey(caller: Caller, host: string): Promise<void>
}

/** The workspaces of the caller's tenant: another tenant's is `workspace_not_found`. */
export interface WorkspaceControl {
  create(caller: Caller, source: WorkspaceSource, call: KeyedCall): Promise<WorkspaceView>
  list(caller: Caller, query: PageQuery): Promise<Page<WorkspaceView>>
  get(caller: Caller, id: string): Promise<WorkspaceView>
  update(caller: Caller, id: string, change: UpdateWorkspace): Promise<WorkspaceView>
  /** `workspace_in_use` while a sandbox has it. */
  remove(caller: Caller, id: string): Promise<void>
  status(caller: Caller, id: string, signal: AbortSignal): Promise<WorkspaceStatus>
  diff(caller: Caller, id: string, since: DiffSince, signal: AbortSignal): Promise<WorkspaceDiffView>
  commit(caller: Caller, id: string, request: CommitRequest, call: KeyedCall): Promise<CommitView>
  push(caller: Caller, id: string, request: PushRequest, call: KeyedCall): Promise<PushView>
  pullRequest(caller: Caller, id: string, request: PullRequestRequest, call: KeyedCall): Promise<PullRequestResult>
  /** Evicts what nobody has used for long, least valuable first. */
  collect(caller: Caller, request: CollectRequest): Promise<Collected>
}

/** How a host does, for those who look after it. */
export interface HostReport {
  readonly sandboxes: readonly { readonly state: SandboxState; readonly rung: Rung; readonly count: number }[]
  /** What is left of the host beyond what must stay free. */
  readonly headroom: Readonly<Record<'memoryBytes' | 'diskBytes' | 'pids', number>>
  /** Creates that were refused since the start because the host was full, by what there was too little of. */
  readonly refusals: Readonly<Record<string, number>>
  /** Parts of the server's own rounds that failed since the start, by name. */
  readonly failedRounds: Readonly<Record<string, number>>
}

/**
 * What the API and the dialects call. Each method checks that the sandbox is the caller's: another tenant's is
 * `sandbox_not_found`. Scopes are checked by the caller of this interface, tenancy here.
 */
export interface ControlPlane {
  readonly copies: CopyControl
  readonly sleep: SleepControl
  readonly snapshots: SnapshotControl
  readonly volumes: VolumeControl
  readonly templates: TemplateControl
  readonly policies: PolicyControl
  readonly repositories: RepositoryControl
  readonly workspaces: WorkspaceControl
  /** Machines of this host that wait for sandboxes, of whichever tenant. */
  readonly pool: Pick<Pool, 'report' | 'set'>
  report(): HostReport
  /** The same key with the same request gives the same sandbox; with another request, `idempotency_conflict`. */
  create(
    caller: Caller,
    request: CreateSandbox,
    options: KeyedCall & {
      /** For a request with `delegate`, which is refused without it. */
      readonly key?: SandboxKey | null
    },
  ): Promise<SandboxView>
  get(caller: Caller, id: string): Promise<SandboxView>
  list(caller: Caller, query: ListQuery): Promise<Page<SandboxView>>
  renew(caller: Caller, id: string, ttlMs: number): Promise<SandboxView>
  /** Freezes all processes; idempotent. The next use wakes it. */
  pause(caller: Caller, id: string): Promise<SandboxView>
  resume(caller: Caller, id: string): Promise<SandboxView>
  /**
   * Ends it and frees all that it holds, its disk too; idempotent. It can still be looked at for a while, and says why it ended: that is
   * all that is left of it, and nothing brings it back.
   */
  stop(caller: Caller, id: string): Promise<SandboxView>
  /** Ends it and removes it; idempotent. */
  delete(caller: Caller, id: string): Promise<void>
  /** For every call that reaches into a sandbox. Wakes a paused one. Dispose when the call is over. */
  use(caller: Caller, id: string): Promise<SandboxUse>
  rungs(): Promise<readonly RungReport[]>
  /** Ends what was made with keys that do not work any more: after a revocation. */
  endOrphans(): Promise<void>
}
