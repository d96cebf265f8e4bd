import { z } from '@hono/zod-openapi'
import { createKeySchema, HearthError, keyViewSchema, newKeySchema, type KeyView } from '@hearth/contract'
import type { ApiKey } from '../../state/index.ts'
import { requireWithin } from '../access/scopes.ts'
import type { App, AppContext, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { describeRoute, jsonAnswer, jsonBody, noContent } from '../openapi.ts'

const KEY_ID = /^key_[0-9a-z]{20}$/

export function keyRoutes(app: App, services: Services): void {
  const { keys, access } = services
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
    const { name, scopes = context.get('key').scopes, expiresInMs } = context.req.valid('json')
    const { tenantId, scopes: own } = context.get('caller')
    requireWithin(own, scopes, 'the new key')
    const made = await keys.create({ tenantId, name, scopes, expiresAt: expiry(context, expiresInMs) })
    return context.json({ ...keyView(made.key), key: made.token }, 201)
  })

  const list = describeRoute(
    { name: 'key.list', summary: 'List the keys of the tenant', scope: 'keys' },
    {
      method: 'get',
      path: '/v1/keys',
      responses: { 200: jsonAnswer(z.object({ items: z.array(keyViewSchema) }), 'Newest first, revoked ones too.') },
    },
  )
  app.openapi(list, async (context) => {
    const found = await keys.list(context.get('caller').tenantId)
    return context.json({ items: found.map(keyView) }, 200)
  })

  const revoke = describeRoute(
    { name: 'key.revoke', summary: 'Revoke a key', scope: 'keys' },
    {
      method: 'delete',
      path: '/v1/keys/{id}',
      request: { params: z.object({ id: z.string() }) },
      responses: noContent,
    },
  )
  app.openapi(revoke, async (context) => {
    const { tenantId, scopes } = context.get('caller')
    const { id } = context.req.valid('param')
    const found = KEY_ID.test(id) ? (await keys.list(tenantId)).find((key) => key.id === id) : undefined
    if (found === undefined) throw new HearthError('not_found', 'there is no such key')
    requireWithin(scopes, found.scopes, 'the key')
    await keys.revoke(tenantId, id)
    access.keys.forget(id)
    return context.body(null, 204)
  })
}

/** A key does not outlive the one that made it. */
function expiry(context: AppContext, expiresInMs: number | undefined): number | null {
  const own = context.get('key').expiresAt
  const wanted = expiresInMs === undefined ? null : Date.now() + expiresInMs
  if (own === null) return wanted
  return wanted === null ? own : Math.min(own, wanted)
}

export function keyView(key: ApiKey): KeyView {
  const { id, name, scopes, createdAt, expiresAt, revokedAt, lastUsedAt } = key
  return {
    id,
    name,
    scopes: [...scopes],
    createdAt: new Date(createdAt).toISOString(),
    expiresAt: time(expiresAt),
    revokedAt: time(revokedAt),
    lastUsedAt: time(lastUsedAt),
  }
}

function time(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString()
}
