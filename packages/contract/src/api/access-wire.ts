import { z } from 'zod'
import { grantRequestSchema, grantSchema } from '../grants/grant.ts'
import { quotasSchema } from '../quotas.ts'

/** What a key may do. `admin` is everything of its tenant, `operator` also other tenants. */
export const SCOPES = [
  'sandbox:read',
  'sandbox:write',
  'sandbox:persistent',
  'exec',
  'files',
  'ports',
  'secrets',
  'workspaces',
  'runs',
  'keys',
  'admin',
  'operator',
] as const
export type Scope = (typeof SCOPES)[number]

const scopeSchema = z.enum(SCOPES)

export const createKeySchema = z
  .strictObject({
    name: z.string().min(1).max(100),
    /** Default: those of the key that makes it. Never more than those. */
    scopes: z.array(scopeSchema).min(1).max(16).optional(),
    /** Never later than the end of the key that makes it. */
    expiresInMs: z
      .int()
      .min(1000)
      .max(3_660 * 24 * 3_600_000)
      .optional(),
    /** What it may do at the most, as a part of what the key that makes it may: it then ends with that key. `{}` for the defaults. */
    grant: grantRequestSchema.optional(),
  })
  .meta({ id: 'CreateKey' })

export const keyViewSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    scopes: z.array(scopeSchema),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime().nullable(),
    revokedAt: z.iso.datetime().nullable(),
    lastUsedAt: z.iso.datetime().nullable(),
    /** Of a key that was delegated: the key that made it, the only sandbox that it works from, if any, and what it may do. */
    maker: z.string().nullable(),
    sandbox: z.string().nullable(),
    grant: grantSchema.nullable(),
  })
  .meta({ id: 'Key' })
export type KeyView = z.output<typeof keyViewSchema>

/** The only answer that ever holds the key itself. */
export const newKeySchema = z.object({ ...keyViewSchema.shape, key: z.string() }).meta({ id: 'NewKey' })

const tenantName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/)

export const createTenantSchema = z
  .strictObject({ name: tenantName, quotas: quotasSchema.partial().optional() })
  .meta({ id: 'CreateTenant' })
export type CreateTenant = z.input<typeof createTenantSchema>

export const tenantViewSchema = z
  .object({ id: z.string(), name: z.string(), quotas: quotasSchema, createdAt: z.iso.datetime() })
  .meta({ id: 'Tenant' })
export type TenantView = z.output<typeof tenantViewSchema>

/** What a tenant may hold at once, and what it holds now. */
export const quotasViewSchema = z
  .object({
    tenant: z.object({ id: z.string(), name: z.string() }),
    limits: quotasSchema,
    usage: quotasSchema,
  })
  .meta({ id: 'Quotas' })
export type QuotasView = z.output<typeof quotasViewSchema>
