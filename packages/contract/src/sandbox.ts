import type { Files, WatchEvent } from './files.ts'
import type { SandboxId } from './ids.ts'
import type { Limits } from './limits.ts'
import type { Command, ExecOptions, ExecResult, Process, ProcessInfo, SpawnOptions } from './process.ts'
import type { Rung } from './rungs.ts'
import type {
  DiffOptions,
  FileChange,
  ForkOptions,
  ForkResult,
  MemoryOutcome,
  MergeOptions,
  MergeResult,
  SleepOptions,
  SnapshotId,
  SnapshotInfo,
  SnapshotOptions,
} from './snapshots.ts'
import type { VolumeMount } from './volumes.ts'

export interface SandboxInfo {
  readonly id: SandboxId
  /** `hibernated`: its machine has ended, and its state lies in the store until it is woken. */
  readonly state: 'running' | 'hibernated' | 'ended'
  readonly rung: Rung
  /** What implements the rung here, for example `crun 1.8.1` or `qemu 10.0.2 (tcg)`. */
  readonly driver: string
  readonly template: string
  readonly createdAt: Date
  readonly expiresAt: Date
  /** The sandbox that it was forked of. */
  readonly parent: SandboxId | null
  /** The snapshot that it was made of, null for a template. */
  readonly origin: SnapshotId | null
  readonly metadata: Readonly<Record<string, string>>
  readonly limits: Limits
  /** Directories that outlive it. */
  readonly volumes: readonly VolumeMount[]
}

export interface Stats {
  readonly memoryBytes: number
  readonly memoryLimitBytes: number
  readonly cpuMs: number
  readonly processes: number
  readonly diskUsedBytes: number
  readonly diskLimitBytes: number
  readonly uptimeMs: number
}

/** A byte stream to a port inside the sandbox. */
export interface PortConnection extends AsyncDisposable {
  readonly data: AsyncIterable<Uint8Array>
  write(data: Uint8Array): Promise<void>
  /** Half-close: no more bytes from this side. */
  end(): Promise<void>
  close(): Promise<void>
}

/** A port inside the sandbox, seen from outside. */
export interface Port {
  readonly port: number
  connect(options?: { readonly signal?: AbortSignal }): Promise<PortConnection>
  /** Waits until something listens. */
  ready(options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal }): Promise<void>
}

export const CODE_LANGUAGES = ['python', 'javascript', 'bash', 'r', 'java'] as const
export type CodeLanguage = (typeof CODE_LANGUAGES)[number]

export interface RunCodeOptions {
  /** Default `python`. */
  readonly language?: CodeLanguage
  readonly timeoutMs?: number
  /** Separate states within one sandbox. Default `default`. */
  readonly context?: string
  /** Names the step of the caller's work that it belongs to, in the record that a server keeps. */
  readonly step?: string
  /** Ends the cell. In Python and R its context keeps what it had; other interpreters are started anew. */
  readonly signal?: AbortSignal
  /** Told of output and of what is shown while the cell runs; over the HTTP API, when it has ended. */
  readonly onEvent?: (event: CodeEvent) => void
}

/** Something that a cell shows: by MIME type, images in base64 and what is JSON as text. */
export interface CodeDisplay {
  /** The value of the last expression; everything else was shown on the way. */
  readonly main: boolean
  readonly data: Readonly<Record<string, string>>
}

export type CodeEvent =
  | { readonly type: 'output'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  | { readonly type: 'display'; readonly display: CodeDisplay }

export interface CodeResult {
  readonly stdout: string
  readonly stderr: string
  /** The value of the last expression as text, if there was one. */
  readonly text: string | null
  /** Values, figures and tables that have more forms than text, and what was shown with `display`: in Python, and what R draws. */
  readonly displays: readonly CodeDisplay[]
  readonly error: { readonly name: string; readonly message: string; readonly traceback: string } | null
  readonly durationMs: number
  /** After a timeout or an out-of-memory the interpreter is started anew and its state is lost. */
  readonly timedOut: boolean
  readonly oom: boolean
  readonly truncated: boolean
}

/** One isolated computer. The embedded engine and the remote client both give this. */
export interface Sandbox extends AsyncDisposable {
  readonly info: SandboxInfo
  readonly id: SandboxId
  readonly files: Files
  exec(command: Command, options?: ExecOptions): Promise<ExecResult>
  spawn(command: Command, options?: SpawnOptions): Promise<Process>
  /** Takes up a process again, with its retained output from `offset` (default 0). */
  attach(process: number, options?: { readonly offset?: number; readonly signal?: AbortSignal }): Promise<Process>
  processes(): Promise<ProcessInfo[]>
  runCode(code: string, options?: RunCodeOptions): Promise<CodeResult>
  watch(
    path: string,
    options?: { readonly recursive?: boolean; readonly signal?: AbortSignal },
  ): Promise<AsyncIterable<WatchEvent> & AsyncDisposable>
  port(port: number): Port
  stats(): Promise<Stats>
  /** Captures it as it is now; it goes on. The snapshot outlives it. */
  snapshot(options?: SnapshotOptions): Promise<SnapshotInfo>
  /** Copies of it as it is now. All of them, or an error and none; it goes on in any case. */
  fork(count: number, options?: ForkOptions): Promise<ForkResult>
  /** What changed in its files. More than 100,000 changes are refused with `too_many`. */
  diff(options?: DiffOptions): Promise<FileChange[]>
  /**
   * Brings what a fork of it changed back into it, three-way: what both changed differently is a conflict, and with any conflict nothing
   * is done. All or nothing; refused with `conflict` when something in it changes one of the files meanwhile.
   */
  merge(child: Sandbox, options?: MergeOptions): Promise<MergeResult>
  /**
   * Writes it down and ends its machine: nothing of it runs and it takes no memory, until it is woken under the same identifier. Its processes
   * go on then where memory was captured; elsewhere its files are there. Connections and calls under way end with `sandbox_hibernated`. When
   * it cannot be done it goes on as it was.
   */
  hibernate(options?: SleepOptions): Promise<MemoryOutcome>
  /** Moves the deadline to this long from now. */
  renew(ttlMs: number): Promise<SandboxInfo>
  /** Ends it and everything in it. Idempotent. */
  kill(): Promise<void>
}
