import type {
  Command,
  Files,
  Limits,
  MemoryMode,
  MemoryOutcome,
  PortConnection,
  Process,
  ProcessInfo,
  Stats,
  WatchEvent,
} from '@hearth/contract'
import type { SandboxGateway } from '../gateway/sandbox-gateway.ts'
import type { CapturedDisk, MemoryCapture } from '../store/snapshot-manifest.ts'
import type { ChangeSource } from './machine-changes.ts'
import type { ProcessWatch } from './process-watch.ts'

/** A validated command. */
export interface ProcessSpec {
  readonly command: Command
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | null
  readonly user: string | null
  /** 0 for none. */
  readonly timeoutMs: number
  readonly pty: { readonly rows: number; readonly cols: number } | null
  readonly stdin: 'pipe' | 'none'
  readonly mergeOutput: boolean
  /** A policy in JSON that is in force for it besides the sandbox's. */
  readonly policy?: string
}

/** How a machine ended. */
export interface MachineEnd {
  readonly reason: 'killed' | 'exited' | 'protocol_violation' | 'lost'
  readonly detail: string
}

/** What a capture put into the directory of a snapshot. */
export interface Captured {
  readonly outcome: MemoryOutcome
  /** How long the machine stood still. */
  readonly pausedMs: number
  readonly disk: CapturedDisk
  /** Bytes that exist for it alone, as far as the store can tell. */
  readonly diskBytes: number
  readonly memory: MemoryCapture | null
}

/** What is done while nobody writes to the files of a machine. They stand still until it resolves. */
export interface WhileStill {
  /** Called where copies can be made of the files themselves, without waiting for the snapshot, with the subvolume that they lie in. */
  readonly early?: (area: string) => Promise<void>
  /** Called once, together with the capture of the files. When it fails, so does that. */
  readonly alongside?: () => Promise<void>
  /** It shall not go on when the capture is whole: nothing in it happens after what was captured, until `resume`. */
  readonly stays?: boolean
}

/** The way out of a machine. */
export interface MachineNetwork {
  readonly gateway: SandboxGateway
  /** A certificate that its programs shall trust, in PEM; empty for none. */
  readonly authority: string
}

/** A started computer. `LinkMachine` is this over the guest's link; the simulated rung implements it directly. */
export interface Machine {
  readonly files: Files
  /** Resolves once, when it is gone. */
  readonly ended: Promise<MachineEnd>
  spawn(spec: ProcessSpec, signal?: AbortSignal): Promise<Process>
  attach(process: number, offset: number, signal?: AbortSignal): Promise<Process>
  processes(): Promise<ProcessInfo[]>
  watch(path: string, recursive: boolean, signal?: AbortSignal): Promise<AsyncIterable<WatchEvent> & AsyncDisposable>
  /** What programs its processes execute, and how they end. Refused where the rung cannot tell. */
  watchProcesses(): Promise<ProcessWatch>
  connect(port: number, signal?: AbortSignal): Promise<PortConnection>
  stats(): Promise<Stats>
  /** Names can be reached from now on, or others than before. Idempotent. */
  openNetwork(network: MachineNetwork): Promise<void>
  /** The base environment of commands that are started from now on. The limits are those that it has. */
  setEnvironment(environment: Readonly<Record<string, string>>, limits: Limits): Promise<void>
  /** Stops all processes where they are; calls under way wait, their time limits go on. New ones are refused with `sandbox_paused`. Idempotent. */
  pause(): Promise<void>
  /** Resolves when the guest answers again. Idempotent. */
  resume(): Promise<void>
  /**
   * Writes its files, and its running processes where it can and `memory` allows, into the directory of a snapshot, and goes on unless it
   * shall stay; always when it fails. Refused with `memory_unsupported` when memory is required and cannot be captured. One at a time.
   */
  capture(directory: string, memory: MemoryMode, still?: WhileStill): Promise<Captured>
  /** How its changes are found. */
  readonly changes: ChangeSource
  /** Carries out the operations of a merge in its root, all or none. Refused with `conflict` when something is not as they expect it. */
  applyChanges(operations: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>
  /** Ends it and everything in it, and frees what the host held for it. Calls under way learn when it only sleeps. Idempotent. */
  kill(cause?: 'sleep'): Promise<void>
  /** Lets go of it without ending it, so that another process can adopt it. */
  release(): Promise<void>
}
