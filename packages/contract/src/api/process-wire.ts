import { z } from 'zod'
import { commandSchema } from '../process.ts'
import { environmentSchema, guestPathSchema, userSchema } from '../sandbox-spec.ts'

const base64 = z.base64()

const startFields = {
  command: commandSchema,
  env: environmentSchema.optional(),
  cwd: guestPathSchema.optional(),
  user: userSchema.optional(),
  timeoutMs: z.int().min(1).optional(),
  mergeOutput: z.boolean().optional(),
}

export const execRequestSchema = z.strictObject({
  ...startFields,
  /** Standard input, base64. */
  input: base64.optional(),
  maxOutputBytes: z
    .int()
    .min(0)
    .max(256 * 1024 * 1024)
    .optional(),
})

export const processRequestSchema = z.strictObject({
  ...startFields,
  pty: z.strictObject({ rows: z.int().min(1).max(1000), cols: z.int().min(1).max(1000) }).optional(),
  stdin: z.enum(['pipe', 'none']).optional(),
})

export const processExitSchema = z.object({
  exitCode: z.int().nullable(),
  signal: z.string().nullable(),
  timedOut: z.boolean(),
  oom: z.boolean(),
  durationMs: z.number(),
  cpuMs: z.number().nullable(),
})

export const execResponseSchema = processExitSchema.extend({
  stdout: z.string(),
  stderr: z.string(),
  /** Present only where the text is not the bytes, that is, for output that is not UTF-8. */
  stdoutBase64: base64.optional(),
  stderrBase64: base64.optional(),
  output: z.string(),
  truncated: z.boolean(),
  totalOutputBytes: z.number(),
})

export const processViewSchema = z.object({
  id: z.int(),
  pid: z.int(),
  command: z.array(z.string()),
  startedAt: z.iso.datetime(),
  exit: processExitSchema.nullable(),
  outputBytes: z.number(),
  oldestOffset: z.number(),
})

/** Events of an output stream (SSE). `started` is first, `exit` or `error` last; `ping` comes while nothing happens. */
export const outputEventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('started'), process: z.int(), pid: z.int() }),
  z.object({
    type: z.literal('output'),
    stream: z.enum(['stdout', 'stderr']),
    offset: z.number(),
    dropped: z.number(),
    data: base64,
  }),
  z.object({ type: z.literal('exit'), exit: processExitSchema }),
  z.object({ type: z.literal('error'), error: z.object({ code: z.string(), message: z.string() }) }),
])
export type OutputEvent = z.output<typeof outputEventSchema>
