import { z } from '@hono/zod-openapi'
import { guestPathSchema, userSchema } from '@hearth/contract'
import type { App, Services } from '../app-env.ts'
import { describeRoute, noContent, rawBytes, sandboxParameters } from '../openapi.ts'
import { withSandbox } from '../sandbox-use.ts'
import { answerWithBytes, INERT_HEADERS } from '../streams/send-bytes.ts'
import { rawBody } from './files.ts'

const tar = { 'application/x-tar': { schema: rawBytes } }

/** Whole directories as tar, out and in. */
export function archiveRoutes(app: App, services: Services): void {
  const pack = describeRoute(
    { name: 'files.archive', summary: 'A directory or a file as tar', scope: 'files' },
    {
      method: 'get',
      path: '/v1/sandboxes/{id}/files/archive',
      request: { params: sandboxParameters, query: z.object({ path: guestPathSchema }) },
      responses: { 200: { description: 'The archive.', content: tar } },
    },
  )
  app.openapi(pack, async (context) => {
    const { path } = context.req.valid('query')
    return await withSandbox(services, context, (sandbox) =>
      answerWithBytes(context, services, {
        status: 200,
        length: null,
        headers: { ...INERT_HEADERS, 'content-type': 'application/x-tar' },
        content: (signal) => sandbox.files.archive(path, { signal }),
      }),
    )
  })

  const unpack = describeRoute(
    { name: 'files.extract', summary: 'Unpack a tar below a directory', scope: 'files' },
    {
      method: 'put',
      path: '/v1/sandboxes/{id}/files/archive',
      request: {
        params: sandboxParameters,
        query: z.object({ path: guestPathSchema, user: userSchema.optional() }),
        body: { required: true, content: tar },
      },
      responses: noContent,
    },
  )
  app.openapi(unpack, async (context) => {
    const { path, user } = context.req.valid('query')
    await withSandbox(services, context, (sandbox) =>
      sandbox.files.extract(path, rawBody(context, services), user === undefined ? {} : { user }),
    )
    return context.body(null, 204)
  })
}
