import { HearthError } from '@hearth/contract'
import { z } from 'zod'
import { everyItem, type ApiKey } from '../../state/index.ts'
import { routes, type Answer, type Call, type Route } from './call.ts'

/** Who calls, and the keys of its tenant. */
export const ACCOUNT_ROUTES: readonly Route[] = routes('account', {
  'GET /me': ['sandbox:read', me],
  'GET /me/tokens': ['keys', list],
  'POST /me/tokens': ['keys', create],
  'DELETE /me/tokens/{prefix}': ['keys', revoke],
})

async function me({ caller }: Call): Promise<Answer> {
  return {
    status: 200,
    json: { user_id: caller.keyId, current_org: caller.tenantId, orgs: [caller.tenantId], auth_method: 'api_key' },
  }
}

async function list(call: Call): Promise<Answer> {
  return { status: 200, json: { items: (await alive(call)).map(tokenView) } }
}

async function create(call: Call): Promise<Answer> {
  const { label } = await call.body(z.object({ label: z.string().min(1).max(64) }))
  const { tenantId, scopes } = call.caller
  const { key, token } = await call.services.keys.create({
    tenantId,
    name: label,
    scopes: [...scopes],
    expiresAt: null,
  })
  return { status: 201, json: { ...tokenView(key), token } }
}

async function revoke(call: Call): Promise<Answer> {
  const prefix = call.parameter('prefix')
  const key = (await alive(call)).find((each) => each.prefix === prefix)
  if (key === undefined) throw new HearthError('not_found', 'there is no such token')
  await call.services.keys.revoke(call.caller.tenantId, key.id)
  call.services.access.keys.forget()
  await call.services.controlPlane.endOrphans()
  return { status: 204 }
}

async function alive({ services, caller }: Call): Promise<ApiKey[]> {
  const keys = await everyItem((page) => services.keys.list(caller.tenantId, page))
  return keys.filter(({ revokedAt }) => revokedAt === null)
}

function tokenView({ prefix, name, createdAt }: ApiKey): Record<string, unknown> {
  return { prefix, label: name, created_at: new Date(createdAt).toISOString() }
}
