import { z } from 'zod'
import { BOUNDS } from '../limits.ts'
import { policySchema } from '../policy.ts'
import { commandSchema, stepSchema } from '../process.ts'
import { environmentSchema, guestPathSchema, userSchema } from '../sandbox-spec.ts'
import { failureSchema } from './failure.ts'

const base64 = z.base64()
const terminalSize = { rows: z.int().min(1).max(1000), cols: z.int().min(1).max(1000) }

const startFields = {
  command: commandSchema,
  env: environmentSchema.optional(),
  cwd: guestPathSchema.optional(),
  user: userSchema.optional(),
  timeoutMs: z.int().min(1).max(BOUNDS.maximumTtlMs).optional(),
  mergeOutput: z.boolean().optional(),
  /** Names the step of the caller's work that it belongs to, in the record. */
  step: stepSchema.optional(),
  /** What it and all that it starts may reach at the most; the sandbox's own policy holds too. */
  policy: policySchema.optional(),
}

/** What `exec/stream` takes: its output has no bound, because its reader sets the pace. */
export const execStreamRequestSchema = z
  .strictObject({
    ...startFields,
    /** Standard input, base64. */
    input: base64.optional(),
  })
  .meta({ id: 'ExecStream' })

export const execRequestSchema = z
  .strictObject({
    ...execStreamRequestSchema.shape,
    maxOutputBytes: z
      .int()
      .min(0)
      .max(256 * 1024 * 1024)
      .optional(),
  })
  .meta({ id: 'Exec' })

export const processRequestSchema = z
  .strictObject({
    ...startFields,
    pty: z.strictObject(terminalSize).optional(),
    stdin: z.enum(['pipe', 'none']).optional(),
  })
  .meta({ id: 'StartProcess' })

export const processExitSchema = z
  .object({
    exitCode: z.int().nullable(),
    signal: z.string().nullable(),
    timedOut: z.boolean(),
    oom: z.boolean(),
    durationMs: z.number(),
    cpuMs: z.number().nullable(),
  })
  .meta({ id: 'ProcessExit' })

export const execResponseSchema = z
  .object({
    ...processExitSchema.shape,
    stdout: z.string(),
    stderr: z.string(),
    /** Present only where the text is not the bytes, that is, for output that is not UTF-8. */
    stdoutBase64: base64.optional(),
    stderrBase64: base64.optional(),
    output: z.string(),
    truncated: z.boolean(),
    totalOutputBytes: z.number(),
  })
  .meta({ id: 'ExecResult' })
export type ExecResponse = z.output<typeof execResponseSchema>

/** A process that has been started; the list of processes says more. */
export const startedProcessSchema = z.object({ id: z.int(), pid: z.int() }).meta({ id: 'StartedProcess' })

export const processViewSchema = z
  .object({
    id: z.int(),
    pid: z.int(),
    command: z.array(z.string()),
    startedAt: z.iso.datetime(),
    exit: processExitSchema.nullable(),
    outputBytes: z.number(),
    oldestOffset: z.number(),
  })
  .meta({ id: 'Process' })
export type ProcessView = z.output<typeof processViewSchema>

export const signalRequestSchema = z
  .strictObject({
    /** For example `SIGINT`. Default `SIGTERM`, or `SIGKILL` for the tree. */
    signal: z.string().max(32).optional(),
    /** The whole tree, also what has detached itself. Only with `SIGKILL`. */
    tree: z.boolean().optional(),
  })
  .meta({ id: 'SignalProcess' })

export const resizeRequestSchema = z.strictObject(terminalSize).meta({ id: 'ResizeTerminal' })

/** Events of an output stream (SSE). `started` is first, `exit` or `error` last; comments come while nothing happens. */
export const outputEventSchema = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('started'), process: z.int(), pid: z.int() }),
    z.object({
      type: z.literal('output'),
      stream: z.enum(['stdout', 'stderr']),
      offset: z.number(),
      dropped: z.number(),
      data: base64,
    }),
    z.object({ type: z.literal('exit'), exit: processExitSchema }),
    z.object({ type: z.literal('error'), error: failureSchema }),
  ])
  .meta({ id: 'OutputEvent' })
export type OutputEvent = z.output<typeof outputEventSchema>

/** Text frames that a client sends on an attached WebSocket; its binary frames are standard input. */
export const attachRequestSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('resize'), ...terminalSize }),
  z.strictObject({ type: z.literal('eof') }),
  z.strictObject({ type: z.literal('signal'), signal: z.string().max(32) }),
])
export type AttachRequest = z.output<typeof attachRequestSchema>

/**
 * Text frames that the server sends there; its binary frames are output. `position` says of which stream the following bytes are, their offset,
 * and how many bytes before them were no longer retained; it comes before the first bytes and whenever one of these changes.
 */
export const attachEventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('attached'), process: z.int(), pid: z.int() }),
  z.object({
    type: z.literal('position'),
    stream: z.enum(['stdout', 'stderr']),
    offset: z.number(),
    dropped: z.number(),
  }),
  z.object({ type: z.literal('exit'), exit: processExitSchema }),
  z.object({ type: z.literal('error'), error: failureSchema }),
])
export type AttachEvent = z.output<typeof attachEventSchema>
