import { z } from 'zod'
import { BOUNDS } from '../limits.ts'
import { stepSchema } from '../process.ts'
import { RUNGS } from '../rungs.ts'
import { CODE_LANGUAGES } from '../sandbox.ts'
import { failureSchema } from './failure.ts'

export const statsViewSchema = z
  .object({
    memoryBytes: z.number(),
    memoryLimitBytes: z.number(),
    cpuMs: z.number(),
    processes: z.number(),
    diskUsedBytes: z.number(),
    diskLimitBytes: z.number(),
    uptimeMs: z.number(),
  })
  .meta({ id: 'Stats' })

export const runCodeRequestSchema = z
  .strictObject({
    code: z.string().max(8 * 1024 * 1024),
    language: z.enum(CODE_LANGUAGES).optional(),
    timeoutMs: z.int().min(1).max(BOUNDS.maximumTtlMs).optional(),
    context: z.string().min(1).max(64).optional(),
    step: stepSchema.optional(),
  })
  .meta({ id: 'RunCode' })

export const codeResultSchema = z
  .object({
    stdout: z.string(),
    stderr: z.string(),
    text: z.string().nullable(),
    displays: z.array(z.object({ main: z.boolean(), data: z.record(z.string(), z.string()) })).readonly(),
    error: z.object({ name: z.string(), message: z.string(), traceback: z.string() }).nullable(),
    durationMs: z.number(),
    timedOut: z.boolean(),
    oom: z.boolean(),
    truncated: z.boolean(),
  })
  .meta({ id: 'CodeResult' })

const enforcement = z.enum(['enforced', 'approximate', 'none'])

/** What one rung can do on this host, or why it cannot. */
export const rungViewSchema = z
  .object({
    rung: z.enum(RUNGS),
    driver: z.string(),
    selected: z.boolean(),
    probe: z.discriminatedUnion('available', [
      z.object({
        available: z.literal(true),
        label: z.string(),
        automatic: z.boolean(),
        notes: z.array(z.string()),
        capabilities: z.object({
          processes: z.boolean(),
          terminals: z.boolean(),
          users: z.boolean(),
          ports: z.boolean(),
          reconnect: z.boolean(),
          narrowing: z.boolean(),
          processRecord: z.boolean(),
          hostTemplate: z.boolean(),
          limits: z.record(z.string(), enforcement),
        }),
      }),
      z.object({ available: z.literal(false), reason: z.string(), fix: z.string().nullable() }),
    ]),
  })
  .meta({ id: 'Rung' })

/** `host`: a host name of its own, where every path belongs to the program. `path`: below a path of the server, for servers without such names. */
export const LINK_FORMS = ['host', 'path'] as const
export type LinkForm = (typeof LINK_FORMS)[number]

export const linkRequestSchema = z
  .strictObject({
    /** How long the link works. Default one hour. */
    ttlMs: z.int().min(1000).max(BOUNDS.maximumTtlMs).optional(),
    /** Default: `host`, unless the server has a public address and no domain of previews. */
    form: z.enum(LINK_FORMS).optional(),
  })
  .meta({ id: 'CreateLink' })

export const linkViewSchema = z.object({ url: z.string(), expiresAt: z.iso.datetime() }).meta({ id: 'Link' })

/** Text frames that a client sends on the stream of a port; bytes are binary frames. `credit`: so many bytes were taken. */
export const portStreamRequestSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('eof') }),
  z.strictObject({
    type: z.literal('credit'),
    bytes: z
      .int()
      .min(0)
      .max(1024 ** 3),
  }),
])

/** Those that the server sends. `open` is first; `error` is last. */
export const portStreamEventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('open') }),
  z.object({ type: z.literal('eof') }),
  z.object({ type: z.literal('error'), error: failureSchema }),
])
export type PortStreamEvent = z.output<typeof portStreamEventSchema>
