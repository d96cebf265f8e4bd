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

/** What a sandbox is, as last known. */
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

/** What a sandbox uses. */
export interface Stats {
  /** Memory of all its processes, and what the kernel keeps for them. */
  readonly memoryBytes: number
  /** The memory that it may use. */
  readonly memoryLimitBytes: number
  /** Processor time of all its processes since it was started. */
  readonly cpuMs: number
  /** How many processes there are. */
  readonly processes: number
  /** Bytes that it has written to its disk and that are still there. */
  readonly diskUsedBytes: number
  /** Bytes that it may write to its disk. */
  readonly diskLimitBytes: number
  /** How long it has been there. */
  readonly uptimeMs: number
}

/** A byte stream to a port inside the sandbox. */
export interface PortConnection extends AsyncDisposable {
  /** What the program inside sends, as it comes. Ends when that side has ended. */
  readonly data: AsyncIterable<Uint8Array>
  /** Sends bytes to the program inside; resolves when more can be sent. */
  write(data: Uint8Array): Promise<void>
  /** Half-close: no more bytes from this side. */
  end(): Promise<void>
  /** Ends the connection in both directions. */
  close(): Promise<void>
}

/** A port inside the sandbox, seen from outside. */
export interface Port {
  /** The number of the port. */
  readonly port: number
  /** Opens a connection to the port; `port_refused` when nothing listens there. */
  connect(options?: { readonly signal?: AbortSignal }): Promise<PortConnection>
  /** Waits until something listens. */
  ready(options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal }): Promise<void>
}

/** Languages that `runCode` can run where the template has them. */
export const CODE_LANGUAGES = ['python', 'javascript', 'bash', 'r', 'java'] as const
export type CodeLanguage = (typeof CODE_LANGUAGES)[number]

/** How `Sandbox.runCode` runs code. */
export interface RunCodeOptions {
  /** Default `python`. */
  readonly language?: CodeLanguage
  /** Ends the code after this time. Default: the `wallTimeMs` of the sandbox. */
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

/** What a cell writes or shows while it runs. */
export type CodeEvent =
  | { readonly type: 'output'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  | { readonly type: 'display'; readonly display: CodeDisplay }

/** What `Sandbox.runCode` gives. */
export interface CodeResult {
  /** What the code wrote to standard output. */
  readonly stdout: string
  /** What the code wrote to standard error. */
  readonly stderr: string
  /** The value of the last expression as text, if there was one. */
  readonly text: string | null
  /** Values, figures and tables that have more forms than text, and what was shown with `display`: in Python, and what R draws. */
  readonly displays: readonly CodeDisplay[]
  /** What the code threw; null when it ended well. */
  readonly error: { readonly name: string; readonly message: string; readonly traceback: string } | null
  /** How long the code ran. */
  readonly durationMs: number
  /** Whether its time was over. The interpreter is started anew then, and its state is lost. */
  readonly timedOut: boolean
  /** Whether the memory of the sandbox was used up. The interpreter is started anew then, and its state is lost. */
  readonly oom: boolean
  /** Whether there was more output than is kept. */
  readonly truncated: boolean
}

/** One isolated computer. The embedded engine and the remote client both give this. */
export interface Sandbox extends AsyncDisposable {
  /** What the sandbox is: its rung, template, limits, deadline and state, as last known. */
  readonly info: SandboxInfo
  /** The identifier of the sandbox. It is never used again for another one. */
  readonly id: SandboxId
  /** The files of the sandbox. */
  readonly files: Files
  /**
   * Runs a command to its end and gives its output. A string is run by `/bin/sh -c`, a list of words as it is. Another exit code than 0, a timeout
   * and too little memory are results, not errors; what was written before is in the result.
   *
   * @example
   * const { stdout, exitCode } = await sandbox.exec('python3 --version', { timeoutMs: 10_000 })
   */
  exec(command: Command, options?: ExecOptions): Promise<ExecResult>
  /**
   * Starts a command and gives a handle to it: its output as it comes, its standard input, signals, a terminal with `pty`.
   *
   * @example
   * await using server = await sandbox.spawn('python3 -m http.server 8000')
   * for await (const { data } of server.output) process.stdout.write(data)
   */
  spawn(command: Command, options?: SpawnOptions): Promise<Process>
  /** Takes up a process again, with its retained output from `offset` (default 0). */
  attach(process: number, options?: { readonly offset?: number; readonly signal?: AbortSignal }): Promise<Process>
  /** The processes that `exec` and `spawn` have started, also those that have ended while their output is retained. */
  processes(): Promise<ProcessInfo[]>
  /**
   * Runs code in an interpreter that keeps its variables from call to call, and gives the value of the last expression, output and figures.
   *
   * @example
   * await sandbox.runCode('x = 20')
   * const { text } = await sandbox.runCode('x + 1') // '21'
   */
  runCode(code: string, options?: RunCodeOptions): Promise<CodeResult>
  /**
   * Tells what changes at a path, with `recursive` also below it, from the moment that the call resolves.
   *
   * @example
   * await using changes = await sandbox.watch('/workspace', { recursive: true })
   * for await (const { kind, path } of changes) console.log(kind, path)
   */
  watch(
    path: string,
    options?: { readonly recursive?: boolean; readonly signal?: AbortSignal },
  ): Promise<AsyncIterable<WatchEvent> & AsyncDisposable>
  /** A TCP port inside the sandbox, to wait for and connect to. */
  port(port: number): Port
  /** What the sandbox uses now, next to its limits. */
  stats(): Promise<Stats>
  /**
   * Captures the sandbox as it is now; it goes on. The snapshot outlives it.
   *
   * @example
   * const base = await sandbox.snapshot({ name: 'base' })
   * await using later = await hearth.create({ from: base.id })
   */
  snapshot(options?: SnapshotOptions): Promise<SnapshotInfo>
  /**
   * Makes copies of the sandbox as it is now: all of them, or an error and none; it goes on in any case.
   *
   * @example
   * const { children } = await sandbox.fork(3)
   * const results = await Promise.all(children.map((child) => child.exec('npm test')))
   */
  fork(count: number, options?: ForkOptions): Promise<ForkResult>
  /** What changed in the files of the sandbox since it was made, or since a snapshot. More than 100,000 changes are refused with `too_many`. */
  diff(options?: DiffOptions): Promise<FileChange[]>
  /**
   * Brings what a fork of the sandbox changed back into it, three-way: what both changed differently is a conflict, and with any conflict nothing
   * is done. All or nothing; refused with `conflict` when something in it changes one of the files meanwhile.
   */
  merge(child: Sandbox, options?: MergeOptions): Promise<MergeResult>
  /**
   * Writes the sandbox to disk and ends its machine: nothing of it runs and it takes no memory, until it is woken under the same identifier. Its processes
   * go on then where memory was captured; elsewhere its files are there. Connections and calls under way end with `sandbox_hibernated`. When
   * it cannot be done it goes on as it was.
   */
  hibernate(options?: SleepOptions): Promise<MemoryOutcome>
  /** Moves the deadline of the sandbox to this long from now. */
  renew(ttlMs: number): Promise<SandboxInfo>
  /** Ends the sandbox and everything in it. Idempotent. */
  kill(): Promise<void>
}
