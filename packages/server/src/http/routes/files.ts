import { z } from '@hono/zod-openapi'
import {
  fileViewSchema,
  guestPathSchema,
  parseInput,
  userSchema,
  type FileInfo,
  type FileView,
  type Sandbox,
  type WriteOptions,
} from '@hearth/contract'
import type { App, AppContext, Services } from '../app-env.ts'
import { multipartBoundary, readParts } from '../bodies/multipart.ts'
import { readBody } from '../bodies/read-body.ts'
import {
  bytesBody,
  describeRoute,
  jsonAnswer,
  noContent,
  queryBoolean,
  rawBytes,
  sandboxParameters,
} from '../openapi.ts'
import { withSandbox } from '../sandbox-use.ts'
import { fileDownload } from '../streams/file-download.ts'
import { answerWithBytes } from '../streams/send-bytes.ts'

const pathQuery = z.object({ path: guestPathSchema })
const writeQuery = pathQuery.extend({
  mode: z
    .string()
    .regex(/^[0-7]{1,4}$/, 'must be octal')
    .transform((mode) => Number.parseInt(mode, 8))
    .optional(),
  user: userSchema.optional(),
  parents: queryBoolean.optional(),
  append: queryBoolean.optional(),
  exclusive: queryBoolean.optional(),
})

/** Contents of files: raw out and in, several at once, and their removal. */
export function fileRoutes(app: App, services: Services): void {
  const read = describeRoute(
    { name: 'files.read', summary: 'Read a file or a range of it', scope: 'files' },
    {
      method: 'get',
      path: '/v1/sandboxes/{id}/files',
      request: { params: sandboxParameters, query: pathQuery },
      responses: {
        200: { description: 'The content.', content: { 'application/octet-stream': { schema: rawBytes } } },
        206: { description: 'The range.', content: { 'application/octet-stream': { schema: rawBytes } } },
      },
    },
  )
  app.openapi(read, async (context) => {
    const { path } = context.req.valid('query')
    return await withSandbox(services, context, (sandbox) => download(context, services, sandbox, path))
  })

  const write = describeRoute(
    { name: 'files.write', summary: 'Replace a file in one step', scope: 'files' },
    {
      method: 'put',
      path: '/v1/sandboxes/{id}/files',
      request: { params: sandboxParameters, query: writeQuery, ...bytesBody },
      responses: { 200: jsonAnswer(fileViewSchema, 'The file.') },
    },
  )
  app.openapi(write, async (context) => {
    const { path, ...options } = context.req.valid('query')
    const written = await withSandbox(services, context, (sandbox) =>
      sandbox.files.write(path, rawBody(context, services), options as WriteOptions),
    )
    return context.json(fileView(written), 200)
  })

  const remove = describeRoute(
    { name: 'files.remove', summary: 'Remove a file or a directory', scope: 'files' },
    {
      method: 'delete',
      path: '/v1/sandboxes/{id}/files',
      request: {
        params: sandboxParameters,
        query: pathQuery.extend({ recursive: queryBoolean.optional(), force: queryBoolean.optional() }),
      },
      responses: noContent,
    },
  )
  app.openapi(remove, async (context) => {
    const { path, recursive = false, force = false } = context.req.valid('query')
    await withSandbox(services, context, (sandbox) => sandbox.files.remove(path, { recursive, force }))
    return context.body(null, 204)
  })

  multipartRoute(app, services)
}

function multipartRoute(app: App, services: Services): void {
  const form = z.string().meta({ description: 'Each field is a file; its name is the path.' })
  const upload = describeRoute(
    { name: 'files.upload', summary: 'Write several files', scope: 'files' },
    {
      method: 'post',
      path: '/v1/sandboxes/{id}/files',
      request: { params: sandboxParameters },
      responses: { 200: jsonAnswer(z.object({ items: z.array(fileViewSchema) }), form.description ?? '') },
    },
  )
  app.openapi(upload, async (context) => {
    const boundary = multipartBoundary(context.req.header('content-type'))
    const items = await withSandbox(services, context, async (sandbox) => {
      const written: FileView[] = []
      for await (const { name, content } of readParts(rawBody(context, services), boundary)) {
        const path = parseInput(guestPathSchema, name, 'field')
        parseInput(z.number().max(services.limits.formFiles), written.length + 1, 'fields')
        written.push(fileView(await sandbox.files.write(path, content)))
      }
      return written
    })
    return context.json({ items }, 200)
  })
}

async function download(context: AppContext, services: Services, sandbox: Sandbox, path: string): Promise<never> {
  const { range, 'if-range': condition } = context.env.incoming.headers
  return await answerWithBytes(context, services, await fileDownload(sandbox, path, { range, condition }))
}

export function rawBody(context: AppContext, { limits }: Services): AsyncGenerator<Buffer, void> {
  return readBody(context.env.incoming, { maximumBytes: limits.uploadBytes, idleMs: limits.bodyIdleMs })
}

export function fileView(info: FileInfo): FileView {
  return { ...info, modifiedAt: info.modifiedAt.toISOString() }
}
