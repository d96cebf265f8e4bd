import { z } from '@hono/zod-openapi'
import { createVolumeSchema, pageSchema, volumeViewSchema } from '@hearth/contract'
import type { App, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { describeRoute, idempotencyHeaders, jsonAnswer, jsonBody, noContent, queryInteger } from '../openapi.ts'

const volumeParameters = z.object({ volume: z.string().max(64).meta({ example: 'vol_01jd4q2m8r0000000000' }) })

/** Volumes of the tenant, by identifier or name. */
export function volumeRoutes(app: App, services: Services): void {
  const { volumes } = services.controlPlane

  const create = describeRoute(
    {
      name: 'volume.create',
      summary: 'Make an empty volume',
      scope: 'sandbox:write',
      before: boundedJson(services.limits),
    },
    {
      method: 'post',
      path: '/v1/volumes',
      request: { ...jsonBody(createVolumeSchema), headers: idempotencyHeaders },
      responses: { 201: jsonAnswer(volumeViewSchema, 'The volume.') },
    },
  )
  app.openapi(create, async (context) => {
    const idempotencyKey = context.req.valid('header')['idempotency-key'] ?? null
    const call = { idempotencyKey, signal: context.get('operation').signal }
    return context.json(await volumes.create(context.get('caller'), context.req.valid('json'), call), 201)
  })

  const list = describeRoute(
    { name: 'volume.list', summary: 'List volumes', scope: 'sandbox:read' },
    {
      method: 'get',
      path: '/v1/volumes',
      request: {
        query: z.object({ limit: queryInteger(1, 1000).optional(), cursor: z.string().max(256).optional() }),
      },
      responses: { 200: jsonAnswer(pageSchema(volumeViewSchema), 'One page, newest first.') },
    },
  )
  app.openapi(list, async (context) => {
    const { limit = 100, cursor = null } = context.req.valid('query')
    const page = await volumes.list(context.get('caller'), { limit, cursor })
    return context.json({ items: [...page.items], next: page.next }, 200)
  })

  const get = describeRoute(
    { name: 'volume.get', summary: 'Get a volume', scope: 'sandbox:read' },
    {
      method: 'get',
      path: '/v1/volumes/{volume}',
      request: { params: volumeParameters },
      responses: { 200: jsonAnswer(volumeViewSchema, 'The volume.') },
    },
  )
  app.openapi(get, async (context) =>
    context.json(await volumes.get(context.get('caller'), context.req.valid('param').volume), 200),
  )

  const remove = describeRoute(
    { name: 'volume.delete', summary: 'Remove a volume with all that is in it', scope: 'sandbox:write' },
    { method: 'delete', path: '/v1/volumes/{volume}', request: { params: volumeParameters }, responses: noContent },
  )
  app.openapi(remove, async (context) => {
    await volumes.remove(context.get('caller'), context.req.valid('param').volume)
    return context.body(null, 204)
  })
}
