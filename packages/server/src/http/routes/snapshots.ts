import { z } from '@hono/zod-openapi'
import { pageSchema, snapshotNameSchema, snapshotViewSchema } from '@hearth/contract'
import type { App, AppContext, Services } from '../app-env.ts'
import { answerPatiently } from '../bodies/patient-answer.ts'
import { checkDeclaredLength } from '../bodies/read-body.ts'
import { describeRoute, jsonAnswer, noContent, pageQuery, rawBytes } from '../openapi.ts'
import { snapshotView } from '../snapshot-views.ts'
import { answerWithBytes, INERT_HEADERS } from '../streams/send-bytes.ts'
import { rawBody } from './files.ts'

const snapshotParameters = z.object({ snapshot: z.string().max(64).meta({ example: 'sn_01jd4q2m8r0000000000' }) })
const archive = { 'application/octet-stream': { schema: rawBytes } }

/** Snapshots of the tenant, by identifier or name. */
export function snapshotRoutes(app: App, services: Services): void {
  const { snapshots } = services.controlPlane

  const list = describeRoute(
    { name: 'snapshot.list', summary: 'List snapshots', scope: 'sandbox:read' },
    {
      method: 'get',
      path: '/v1/snapshots',
      request: {
        query: pageQuery,
      },
      responses: { 200: jsonAnswer(pageSchema(snapshotViewSchema), 'One page, newest first.') },
    },
  )
  app.openapi(list, async (context) => {
    const { limit = 100, cursor = null } = context.req.valid('query')
    const page = await snapshots.list(context.get('caller'), { limit, cursor })
    return context.json({ items: page.items.map(snapshotView), next: page.next }, 200)
  })

  const get = describeRoute(
    { name: 'snapshot.get', summary: 'Get a snapshot', scope: 'sandbox:read' },
    {
      method: 'get',
      path: '/v1/snapshots/{snapshot}',
      request: { params: snapshotParameters },
      responses: { 200: jsonAnswer(snapshotViewSchema, 'The snapshot.') },
    },
  )
  app.openapi(get, async (context) => {
    const { snapshot } = context.req.valid('param')
    return context.json(snapshotView(await snapshots.get(context.get('caller'), snapshot)), 200)
  })

  const remove = describeRoute(
    { name: 'snapshot.delete', summary: 'Remove a snapshot', scope: 'sandbox:write' },
    {
      method: 'delete',
      path: '/v1/snapshots/{snapshot}',
      request: { params: snapshotParameters },
      responses: noContent,
    },
  )
  app.openapi(remove, async (context) => {
    await snapshots.remove(context.get('caller'), context.req.valid('param').snapshot)
    return context.body(null, 204)
  })

  transferRoutes(app, services)
}

/** Snapshots as one file, out and in. Nothing of one that is damaged or foreign is kept. */
function transferRoutes(app: App, services: Services): void {
  const { snapshots } = services.controlPlane

  const take = describeRoute(
    { name: 'snapshot.export', summary: 'A snapshot as one file, for another host', scope: 'files' },
    {
      method: 'get',
      path: '/v1/snapshots/{snapshot}/export',
      request: { params: snapshotParameters },
      responses: { 200: { description: 'The file.', content: archive } },
    },
  )
  app.openapi(take, async (context) => {
    const { snapshot } = context.req.valid('param')
    const caller = context.get('caller')
    // Also for HEAD, which reads nothing of it.
    await snapshots.get(caller, snapshot)
    return await answerWithBytes(context, services, {
      status: 200,
      length: null,
      headers: { ...INERT_HEADERS, 'content-type': 'application/octet-stream' },
      content: () => snapshots.export(caller, snapshot),
    })
  })

  const bring = describeRoute(
    { name: 'snapshot.import', summary: 'A file that an export gave, as a new snapshot', scope: 'sandbox:write' },
    {
      method: 'post',
      path: '/v1/snapshots/import',
      request: {
        query: z.object({ name: snapshotNameSchema.optional() }),
        body: { required: true, content: archive },
      },
      responses: { 201: jsonAnswer(snapshotViewSchema, 'The snapshot, with an identifier of its own.') },
    },
  )
  app.openapi(bring, async (context) => {
    const { incoming } = context.env
    checkDeclaredLength(incoming, services.limits.uploadBytes)
    const imported = snapshots.import(context.get('caller'), {
      name: context.req.valid('query').name ?? null,
      content: rawBody(context, services),
      declaredBytes: declaredBytes(context),
      signal: context.get('operation').signal,
    })
    return await answerPatiently(context, services, 201, imported.then(snapshotView))
  })
}

function declaredBytes(context: AppContext): number | null {
  const declared = context.env.incoming.headers['content-length']
  return declared === undefined ? null : Number(declared)
}
