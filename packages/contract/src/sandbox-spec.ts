import { z } from 'zod'
import { HearthError } from './errors.ts'
import { BOUNDS, limitsSchema } from './limits.ts'
import { policySchema } from './policy.ts'
import { rungSchema } from './rungs.ts'
import { secretUseSchema } from './secrets.ts'
import { volumeMountsSchema } from './volumes.ts'

export const environmentSchema = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().regex(/^[^\0]*$/))

/** An absolute path inside a sandbox. The host never resolves it: only the guest does. */
export const guestPathSchema = z
  .string()
  .max(BOUNDS.pathBytes)
  .regex(/^\/[^\0]*$/, 'must be absolute and must not contain NUL')

/** A name, a number, or `name:group` inside the sandbox. */
export const userSchema = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,31})?$/)

export const sandboxSpecSchema = z.strictObject({
  /** `host`, `debian`, `code-interpreter`, a built template, or an image (`registry/name:tag`, `archive:PATH`). */
  template: z.string().min(1).max(512).optional(),
  /** Exactly this rung, or an error. */
  rung: rungSchema.optional(),
  /** This rung or a stronger one, or an error. */
  atLeast: rungSchema.optional(),
  limits: limitsSchema.optional(),
  env: environmentSchema.optional(),
  workdir: guestPathSchema.optional(),
  user: userSchema.optional(),
  hostname: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)
    .optional(),
  ttlMs: z.int().min(1000).max(BOUNDS.maximumTtlMs).optional(),
  metadata: z.record(z.string().max(64), z.string().max(1024)).optional(),
  /** What it may reach. Without one: nothing. */
  policy: policySchema.optional(),
  /** Secrets that it uses, each through a placeholder in a variable. They go nowhere but where their bindings say. */
  secrets: z.array(secretUseSchema).max(BOUNDS.secrets).optional(),
  /** Directories that outlive it. One sandbox at a time may write to a volume. */
  volumes: volumeMountsSchema.optional(),
})

export type SandboxSpec = z.input<typeof sandboxSpecSchema>

/** Parses hostile input; the error names each wrong field. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown, what: string): z.output<Schema> {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  const issues = result.error.issues.map((issue) => `${[what, ...issue.path].join('.')}: ${issue.message}`)
  throw new HearthError('invalid_request', issues.join('; '), { context: { issues } })
}
