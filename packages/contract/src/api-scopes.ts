import { z } from 'zod'

/** What an API key may do. `admin` includes all the others and the management of tenants. */
export const API_SCOPES = ['sandbox:read', 'sandbox:write', 'exec', 'files', 'ports', 'keys', 'admin'] as const

export type ApiScope = (typeof API_SCOPES)[number]

export const apiScopeSchema = z.enum(API_SCOPES)
