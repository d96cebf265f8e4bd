import { z } from '@hono/zod-openapi'
import { createKeySchema, HearthError, keyViewSchema, newKeySchema, pageSchema, type KeyView } from '@hearth/contract'
import type { Caller } from '../../control-plane.ts'
import type { ApiKey } from '../../state/index.ts'
import { planDelegation } from '../access/delegation.ts'
import { requireWithin } from '../access/scopes.ts'
import type { App, AppContext, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { describeRoute, jsonAnswer, jsonBody, noContent, pageOptions, pageQuery } from '../openapi.ts'

export const pageOfKeys = jsonAnswer(
  pageSchema(keyViewSchema),
  'One page, newest first, with those that were revoked or expired in the last 30 days.',
)
const KEY_ID = /^key_[0-9a-z]{20}$/

export function keyRoutes(app: App, services: Services): void {
  const { keys } = services
  const create = describeRoute(
    {
      name: 'key.create',
      summary: 'Make a key that may do no more than this one',
      scope: 'keys',
      before: boundedJson(services.limits),
    },
    {
      method: 'post',
      path: '/v1/keys',
      request: jsonBody(createKeySchema),
      responses: { 201: jsonAnswer(newKeySchema, 'The only answer that holds the key itself.') },
    },
  )
  app.openapi(create, async (context) => {
    const { name, grant, expiresInMs, ...wanted } = context.req.valid('json')
    const { tenantId, scopes: own, holder } = context.get('caller')
    const maker = context.get('key')
    requireOutside(maker)
    if (grant !== undefined || holder !== null) {
      const delegation = { name, grant: grant ?? {}, scopes: wanted.scopes, expiresAt: expiry(context, expiresInMs) }
      const delegated = await keys.delegate(maker, planDelegation(maker, delegation))
      return context.json({ ...keyView(delegated.key), key: delegated.token }, 201)
    }
    const { scopes = maker.scopes } = wanted
    requireWithin(own, scopes, 'the new key')
    const made = await keys.create({ tenantId, name, scopes, expiresAt: expiry(context, expiresInMs) })
    return context.json({ ...keyView(made.key), key: made.token }, 201)
  })

  const list = describeRoute(
    { name: 'key.list', summary: 'List the keys of the tenant', scope: 'keys' },
    {
      method: 'get',
      path: '/v1/keys',
      request: { query: pageQuery },
      responses: { 200: pageOfKeys },
    },
  )
  app.openapi(list, async (context) => {
    const { tenantId, holder } = context.get('caller')
    const page = pageOptions(context.req.valid('query'))
    const { items, next } = await keys.list(tenantId, { ...page, ...(holder === null ? {} : { below: holder.path }) })
    return context.json({ items: items.map(keyView), next }, 200)
  })

  revokeRoute(app, services)
}

/** The value of a key never gets into a sandbox, not even that of one which it may make. */
function requireOutside({ sandboxId }: ApiKey): void {
  if (sandboxId === null) return
  throw new HearthError('forbidden', 'the key of a sandbox makes no keys that could be carried away', {
    suggestion: 'Create a sandbox with `delegate`: it gets a key of its own.',
  })
}

function revokeRoute(app: App, services: Services): void {
  const revoke = describeRoute(
    { name: 'key.revoke', summary: 'Revoke a key, and with it all that was made under it', scope: 'keys' },
    {
      method: 'delete',
      path: '/v1/keys/{id}',
      request: { params: z.object({ id: z.string() }) },
      responses: noContent,
    },
  )
  app.openapi(revoke, async (context) => {
    const caller = context.get('caller')
    await revokeKey(services, caller, { tenantId: caller.tenantId, id: context.req.valid('param').id })
    return context.body(null, 204)
  })
}

/** Whether the caller may speak for that tenant is checked before. */
export async function revokeKey(
  { keys, access, controlPlane }: Services,
  caller: Caller,
  { tenantId, id }: { readonly tenantId: string; readonly id: string },
): Promise<void> {
  const found = KEY_ID.test(id) ? await keys.find(tenantId, id) : null
  if (found === null || !isBelow(caller, found)) throw new HearthError('not_found', 'there is no such key')
  requireWithin(caller.scopes, found.scopes, 'the key')
  await keys.revoke(tenantId, id)
  access.keys.forget()
  await controlPlane.endOrphans()
}

/** A holder knows of the keys that were made under it, and of its own. */
function isBelow({ holder }: Caller, key: ApiKey): boolean {
  return holder === null || (key.path?.startsWith(holder.path) ?? false)
}

/** A key does not outlive the one that made it. */
function expiry(context: AppContext, expiresInMs: number | undefined): number | null {
  const own = context.get('key').expiresAt
  const wanted = expiresInMs === undefined ? null : Date.now() + expiresInMs
  if (own === null) return wanted
  return wanted === null ? own : Math.min(own, wanted)
}

export function keyView(key: ApiKey): KeyView {
  const { id, name, scopes, createdAt, expiresAt, revokedAt, lastUsedAt, grant, sandboxId } = key
  return {
    id,
    name,
    scopes: [...scopes],
    createdAt: new Date(createdAt).toISOString(),
    expiresAt: time(expiresAt),
    revokedAt: time(revokedAt),
    lastUsedAt: time(lastUsedAt),
    maker: key.path?.split('/').at(-3) ?? null,
    sandbox: sandboxId,
    grant,
  }
}

function time(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString()
}
