export { Hearth, type CreateOptions, type ListFilters, type SandboxPage } from './hearth.ts'
export { HearthError } from './hearth-error.ts'
export { RemoteSandbox } from './sandboxes/remote-sandbox.ts'
export type { RemoteFiles } from './files/remote-files.ts'
export type { CallOptions } from './transport/http-client.ts'
export { RemotePort, type LinkOptions, type PortLink } from './ports/remote-port.ts'
export { Keys, type ApiKey, type NewApiKey } from './keys.ts'
export { Secrets, type StoredSecret } from './secrets.ts'
export type { EventPage, EventPageQuery, EventQuery, HearthEvent } from './events.ts'
export type { HearthOptions } from './options.ts'
export { Pool } from './pool.ts'
export { Snapshots } from './snapshots/snapshots.ts'
export type { KeyedOptions, Relative } from './snapshots/copy-calls.ts'
export { Repositories, type HostKey, type Repository } from './workspaces/repositories.ts'
export { Runs, type NewRun, type RunFilters, type TakeRun } from './runs/runs.ts'
export { Workspaces } from './workspaces/workspaces.ts'
export { Workspace, type WorkspaceDiff, type WorkspaceInfo } from './workspaces/workspace.ts'
export { Templates, type BuildTemplateOptions, type Template } from './templates.ts'
export { Tenants, type Tenant } from './tenants.ts'
export { Volumes, type Volume } from './workspaces/volumes.ts'
export type { RungView } from './rung-view.ts'
export type { WebSocketConstructor, WebSocketLike } from './sandboxes/sandbox-client.ts'
export type { SandboxDetails } from './sandboxes/sandbox-details.ts'
export type {
  AddRepository,
  AgentEvent,
  BudgetLimits,
  CodeResult,
  Collected,
  CollectRequest,
  Command,
  CommitRequest,
  CommitView,
  Content,
  CreateSandbox,
  CreateVolume,
  DiffOptions,
  DiffSince,
  ErrorCode,
  ExecOptions,
  ExecResult,
  FileChange,
  FetchMode,
  FileInfo,
  Files,
  Forge,
  ForgeKind,
  ForkOptions,
  ForkResult,
  IdleAction,
  Limits,
  LinkForm,
  MemoryMode,
  MemoryOutcome,
  MergeOptions,
  MergeResult,
  OutputChunk,
  Policy,
  PolicyView,
  PoolReport,
  PoolShape,
  Port,
  PortConnection,
  Process,
  ProcessExit,
  ProcessInfo,
  PullRequestRequest,
  PullRequestResult,
  PushRequest,
  PushView,
  Quotas,
  QuotasView,
  ReadOptions,
  RecordVerdict,
  RunCodeOptions,
  RunId,
  RunInfo,
  RunKeeper,
  RunLease,
  RunMessage,
  RunMessageKind,
  RunState,
  Rung,
  Sandbox,
  SandboxId,
  SandboxInfo,
  SandboxState,
  Grant,
  GrantRequest,
  Scope,
  SecretBinding,
  SecretUse,
  SleepOptions,
  SnapshotId,
  SnapshotInfo,
  SnapshotOptions,
  SpawnOptions,
  Stats,
  UpdateWorkspace,
  WatchEvent,
  WorkspaceSource,
  WorkspaceStatus,
  WriteOptions,
} from '@hearth/contract'
