import { z } from 'zod'
import { BOUNDS } from './limits.ts'
import { policySchema } from './policy.ts'
import { environmentSchema, guestPathSchema, userSchema } from './sandbox-spec.ts'

/** A string is run by `/bin/sh -c`; a list is an argument vector, run as it is. */
export const commandSchema = z.union([
  z.string().min(1).max(BOUNDS.commandBytes),
  z
    .array(z.string().regex(/^[^\0]*$/))
    .min(1)
    .max(4096),
])
export type Command = z.input<typeof commandSchema>

const bytesSchema = z.custom<Uint8Array>((value) => value instanceof Uint8Array, 'must be a string or a Uint8Array')

/** What a caller calls a step of its work. */
export const stepSchema = z.string().min(1).max(128)

export const spawnOptionsSchema = z.strictObject({
  /** Environment variables, added to those of the sandbox. */
  env: environmentSchema.optional(),
  /** Working directory. Default: that of the sandbox. */
  cwd: guestPathSchema.optional(),
  /** Who runs it. Default: the user of the sandbox. */
  user: userSchema.optional(),
  /** Ends the whole process tree after this time. Default: for `exec` the sandbox's `wallTimeMs`, which is also the most; for `spawn` never. */
  timeoutMs: z.int().min(1).max(BOUNDS.maximumTtlMs).optional(),
  /** A terminal: standard output and error are one stream, and `resize` works. */
  pty: z.strictObject({ rows: z.int().min(1).max(1000), cols: z.int().min(1).max(1000) }).optional(),
  /** `pipe` keeps standard input open for `write`; `none` (the default) gives end-of-file at once. */
  stdin: z.enum(['pipe', 'none']).optional(),
  /** Sends standard error where standard output goes, so that their order is exact. */
  mergeOutput: z.boolean().optional(),
  /** Names the step of the caller's work that it belongs to, in the record that a server keeps. */
  step: stepSchema.optional(),
  /**
   * What it, and all that it starts, may reach: only what this and the policy of the sandbox both allow. It has a loopback of its
   * own. Refused with `capability_unsupported` where the rung cannot enforce it.
   */
  policy: policySchema.optional(),
  /** Ends the process and all that it has started. */
  signal: z.instanceof(AbortSignal).optional(),
})
/** How `Sandbox.spawn` starts a command. */
export type SpawnOptions = z.input<typeof spawnOptionsSchema>

export const execOptionsSchema = spawnOptionsSchema.omit({ stdin: true, pty: true }).extend({
  /** Written to standard input, then end-of-file. */
  input: z.union([z.string(), bytesSchema]).optional(),
  /** Output that is kept, in bytes; the command runs on when there is more. Default: the sandbox's `outputBytes`. */
  maxOutputBytes: z
    .int()
    .min(0)
    .max(256 * 1024 * 1024)
    .optional(),
})
/** How `Sandbox.exec` runs a command. */
export type ExecOptions = z.input<typeof execOptionsSchema>

/** How a process ended. Exactly one of `exitCode` and `signal` is not null. */
export interface ProcessExit {
  /** The exit code; null when a signal ended the process. */
  readonly exitCode: number | null
  /** The signal that ended it, for example `SIGKILL`; null when it exited. */
  readonly signal: string | null
  /** Whether it was ended because its time was over. */
  readonly timedOut: boolean
  /** The memory limit of the sandbox was reached while it ran, and the kernel killed a process. */
  readonly oom: boolean
  /** From its start to its end. */
  readonly durationMs: number
  /** Processor time of the process and its waited-for children, where the rung can tell. */
  readonly cpuMs: number | null
}

/** What `Sandbox.exec` gives: how the command ended, and what it wrote. */
export interface ExecResult extends ProcessExit {
  /** Standard output as text. */
  readonly stdout: string
  /** Standard error as text. */
  readonly stderr: string
  /** Standard output as bytes, for what is not UTF-8. */
  readonly stdoutBytes: Uint8Array
  /** Standard error as bytes, for what is not UTF-8. */
  readonly stderrBytes: Uint8Array
  /** Standard output and error in the order in which they arrived. */
  readonly output: string
  /** True when there was more output than `maxOutputBytes`; the first part of it is kept. */
  readonly truncated: boolean
  /** All bytes that the command wrote, also those not kept. */
  readonly totalOutputBytes: number
}

/** A piece of what a process writes. */
export interface OutputChunk {
  /** Where the process wrote it. */
  readonly stream: 'stdout' | 'stderr'
  /** The bytes. */
  readonly data: Uint8Array
  /** Position of the first byte in the combined output. */
  readonly offset: number
  /** Bytes just before `offset` that were no longer retained when this reader attached. */
  readonly dropped: number
}

/** A process of a sandbox, as it is listed. */
export interface ProcessInfo {
  /** Handle within its sandbox; never reused. */
  readonly id: number
  /** The process id as the sandbox sees it. */
  readonly pid: number
  /** Its argument vector. */
  readonly command: readonly string[]
  /** When it was started. */
  readonly startedAt: Date
  /** How it ended; null while it runs. */
  readonly exit: ProcessExit | null
  /** Bytes of its combined output so far. */
  readonly outputBytes: number
  /** Position of the oldest byte of its output that is still retained. */
  readonly oldestOffset: number
}

/** A running command. Its output must be read or the handle closed: an unread one makes the command wait. */
export interface Process extends AsyncDisposable {
  /** Handle within its sandbox, for `sandbox.attach`; never reused. */
  readonly id: number
  /** The process id as the sandbox sees it. */
  readonly pid: number
  /** Standard output and error in arrival order, each chunk once. Ends when the process has ended. */
  readonly output: AsyncIterable<OutputChunk>
  /** Resolves when the process has ended and all its output was read or discarded. */
  wait(): Promise<ProcessExit>
  /** Writes to standard input, which needs `stdin: 'pipe'` or a terminal; resolves when more can be written. */
  write(data: string | Uint8Array): Promise<void>
  /** End-of-file on standard input. */
  closeStdin(): Promise<void>
  /** Tells the terminal of the process its new size. */
  resize(size: { readonly rows: number; readonly cols: number }): Promise<void>
  /** Sends a signal to the process group; `kill` is for the whole tree. Default `SIGTERM`. */
  signal(name?: string): Promise<void>
  /** Sends SIGKILL to the whole tree, also to what has detached itself. */
  kill(): Promise<void>
  /** Lets the process run on without a reader; `sandbox.attach(id)` takes it up again. */
  detach(): Promise<void>
}
