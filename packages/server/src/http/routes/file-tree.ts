import { z } from '@hono/zod-openapi'
import {
  changeModeSchema,
  fileViewSchema,
  guestPathSchema,
  makeDirectorySchema,
  renameSchema,
  symlinkSchema,
  type Files,
  type Sandbox,
} from '@hearth/contract'
import type { App, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import {
  describeRoute,
  jsonAnswer,
  jsonBody,
  noContent,
  queryBoolean,
  queryInteger,
  sandboxParameters,
} from '../openapi.ts'
import { withSandbox } from '../sandbox-use.ts'
import { fileView } from './files.ts'

/** What is where: looking, listing and the calls that change names and modes. */
export function fileTreeRoutes(app: App, services: Services): void {
  const stat = describeRoute(
    { name: 'files.stat', summary: 'Look at a file', scope: 'files' },
    {
      method: 'get',
      path: '/v1/sandboxes/{id}/files/stat',
      request: {
        params: sandboxParameters,
        query: z.object({ path: guestPathSchema, follow: queryBoolean.optional() }),
      },
      responses: { 200: jsonAnswer(fileViewSchema, 'The file.') },
    },
  )
  app.openapi(stat, async (context) => {
    const { path, follow = true } = context.req.valid('query')
    const info = await withSandbox(services, context, ({ files }) => files.stat(path, { followSymlinks: follow }))
    return context.json(fileView(info), 200)
  })

  const list = describeRoute(
    { name: 'files.list', summary: 'List a directory', scope: 'files' },
    {
      method: 'get',
      path: '/v1/sandboxes/{id}/files/list',
      request: {
        params: sandboxParameters,
        query: z.object({ path: guestPathSchema, depth: queryInteger(1, 1024).optional() }),
      },
      responses: { 200: jsonAnswer(z.object({ items: z.array(fileViewSchema) }), 'Sorted by path.') },
    },
  )
  app.openapi(list, async (context) => {
    const { path, depth = 1 } = context.req.valid('query')
    const found = await withSandbox(services, context, ({ files }) => files.list(path, { depth }))
    return context.json({ items: found.map(fileView) }, 200)
  })

  change(app, services, 'directory', 'Make a directory', makeDirectorySchema, (files, { path, ...options }) =>
    files.makeDirectory(path, options as Parameters<Files['makeDirectory']>[1]),
  )
  change(app, services, 'rename', 'Rename a file', renameSchema, (files, { path, to }) => files.rename(path, to))
  change(app, services, 'symlink', 'Make a symlink', symlinkSchema, (files, { path, target }) =>
    files.symlink(target, path),
  )
  change(app, services, 'mode', 'Change the mode of a file', changeModeSchema, (files, { path, mode }) =>
    files.chmod(path, mode),
  )
}

/** The four that take a path and change something have one shape. */
function change<Schema extends z.ZodType>(
  app: App,
  services: Services,
  name: 'directory' | 'rename' | 'symlink' | 'mode',
  summary: string,
  schema: Schema,
  work: (files: Sandbox['files'], request: z.output<Schema>) => Promise<void>,
): void {
  const route = describeRoute(
    { name: `files.${name}`, summary, scope: 'files', before: boundedJson(services.limits) },
    {
      method: 'post',
      path: `/v1/sandboxes/{id}/files/${name}`,
      request: { params: sandboxParameters, ...jsonBody(schema) },
      responses: noContent,
    },
  )
  app.openapi(route, async (context) => {
    const request = context.req.valid('json' as never) as z.output<Schema>
    await withSandbox(services, context, ({ files }) => work(files, request))
    return context.body(null, 204)
  })
}
