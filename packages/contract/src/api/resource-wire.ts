import { z } from 'zod'
import { CODE_LANGUAGES } from '../sandbox.ts'

export const fileViewSchema = z.object({
  path: z.string(),
  name: z.string(),
  type: z.enum(['file', 'directory', 'symlink', 'fifo', 'socket', 'device']),
  size: z.number(),
  mode: z.int(),
  uid: z.int(),
  gid: z.int(),
  modifiedAt: z.iso.datetime(),
  target: z.string().nullable(),
})

export const watchEventSchema = z.object({
  kind: z.enum(['created', 'changed', 'removed', 'renamed', 'overflow']),
  path: z.string(),
  from: z.string().nullable(),
})

export const statsViewSchema = z.object({
  memoryBytes: z.number(),
  memoryLimitBytes: z.number(),
  cpuMs: z.number(),
  processes: z.number(),
  diskUsedBytes: z.number(),
  diskLimitBytes: z.number(),
  uptimeMs: z.number(),
})

export const runCodeRequestSchema = z.strictObject({
  code: z.string().max(8 * 1024 * 1024),
  language: z.enum(CODE_LANGUAGES).optional(),
  timeoutMs: z.int().min(1).optional(),
  context: z.string().min(1).max(64).optional(),
})

export const codeResultSchema = z.object({
  stdout: z.string(),
  stderr: z.string(),
  text: z.string().nullable(),
  error: z.object({ name: z.string(), message: z.string(), traceback: z.string() }).nullable(),
  durationMs: z.number(),
  timedOut: z.boolean(),
  oom: z.boolean(),
  truncated: z.boolean(),
})

/** What a key may do. `admin` is everything of its tenant, `operator` also other tenants. */
export const SCOPES = [
  'sandbox:read',
  'sandbox:write',
  'sandbox:persistent',
  'exec',
  'files',
  'ports',
  'keys',
  'admin',
  'operator',
] as const
export type Scope = (typeof SCOPES)[number]

export const createKeySchema = z.strictObject({
  name: z.string().min(1).max(100),
  scopes: z.array(z.enum(SCOPES)).min(1).optional(),
  expiresInMs: z.int().min(1000).optional(),
})

export const keyViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable(),
  revokedAt: z.iso.datetime().nullable(),
  lastUsedAt: z.iso.datetime().nullable(),
})

export const eventViewSchema = z.object({
  seq: z.number(),
  at: z.iso.datetime(),
  sandbox: z.string().nullable(),
  type: z.string(),
  data: z.record(z.string(), z.unknown()),
})
