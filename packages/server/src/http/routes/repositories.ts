import { z } from '@hono/zod-openapi'
import { addRepositorySchema, hostKeyViewSchema, pageSchema, repositoryViewSchema } from '@hearth/contract'
import type { App, AppContext, Services } from '../app-env.ts'
import type { KeyedCall } from '../../control-plane.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { answerPatiently } from '../bodies/patient-answer.ts'
import { describeRoute, idempotencyHeaders, jsonAnswer, jsonBody, noContent, pageQuery } from '../openapi.ts'

const parameters = z.object({ repository: z.string().max(64).meta({ example: 'repo_01jd4q2m8r0000000000' }) })
const oneRepository = { 200: jsonAnswer(repositoryViewSchema, 'The repository.') } as const
const scope = 'workspaces'

/** Repositories that are cached on the host. */
export function repositoryRoutes(app: App, services: Services): void {
  const { repositories } = services.controlPlane

  const add = describeRoute(
    {
      name: 'repository.add',
      summary: 'Clone a repository into the cache of the host; a `path` needs the scope `operator`',
      scope,
      before: boundedJson(services.limits),
    },
    {
      method: 'post',
      path: '/v1/repositories',
      request: { ...jsonBody(addRepositorySchema), headers: idempotencyHeaders },
      responses: { 201: jsonAnswer(repositoryViewSchema, 'The repository, also when it was known already.') },
    },
  )
  app.openapi(add, async (context) => {
    const added = repositories.add(context.get('caller'), context.req.valid('json'), keyedCall(context))
    return await answerPatiently(context, services, 201, added)
  })

  const list = describeRoute(
    { name: 'repository.list', summary: 'List repositories', scope },
    {
      method: 'get',
      path: '/v1/repositories',
      request: { query: pageQuery },
      responses: { 200: jsonAnswer(pageSchema(repositoryViewSchema), 'One page, newest first.') },
    },
  )
  app.openapi(list, async (context) => {
    const { limit = 100, cursor = null } = context.req.valid('query')
    const page = await repositories.list(context.get('caller'), { limit, cursor })
    return context.json({ items: [...page.items], next: page.next }, 200)
  })

  singleRoutes(app, services)
  hostKeyRoutes(app, services)
}

function singleRoutes(app: App, services: Services): void {
  const { repositories } = services.controlPlane
  const path = '/v1/repositories/{repository}'

  const get = describeRoute(
    { name: 'repository.get', summary: 'Get a repository', scope },
    { method: 'get', path, request: { params: parameters }, responses: oneRepository },
  )
  app.openapi(get, async (context) =>
    context.json(await repositories.get(context.get('caller'), context.req.valid('param').repository), 200),
  )

  const fetch = describeRoute(
    { name: 'repository.fetch', summary: 'Bring the cache of a repository up to date', scope },
    { method: 'post', path: `${path}/fetch`, request: { params: parameters }, responses: oneRepository },
  )
  app.openapi(fetch, async (context) => {
    const { signal } = context.get('operation')
    const fetched = repositories.fetch(context.get('caller'), context.req.valid('param').repository, signal)
    return await answerPatiently(context, services, 200, fetched)
  })

  const remove = describeRoute(
    { name: 'repository.remove', summary: 'Forget a repository that no workspace is made of', scope },
    { method: 'delete', path, request: { params: parameters }, responses: noContent },
  )
  app.openapi(remove, async (context) => {
    await repositories.remove(context.get('caller'), context.req.valid('param').repository)
    return context.body(null, 204)
  })
}

/** Servers of git that are spoken to with ssh. */
function hostKeyRoutes(app: App, services: Services): void {
  const { repositories } = services.controlPlane

  const list = describeRoute(
    {
      name: 'host-key.list',
      summary: 'List the servers of git whose keys were taken when they were first spoken to',
      scope,
    },
    {
      method: 'get',
      path: '/v1/host-keys',
      request: { query: pageQuery },
      responses: { 200: jsonAnswer(pageSchema(hostKeyViewSchema), 'One page, newest first.') },
    },
  )
  app.openapi(list, async (context) => {
    const { limit = 100, cursor = null } = context.req.valid('query')
    const page = await repositories.hostKeys(context.get('caller'), { limit, cursor })
    return context.json({ items: [...page.items], next: page.next }, 200)
  })

  const host = z.string().max(300).meta({ example: 'git.example.com' })
  const forget = describeRoute(
    {
      name: 'host-key.remove',
      summary: 'Forget the key of a server: the next call takes the one that it has then',
      scope,
    },
    { method: 'delete', path: '/v1/host-keys/{host}', request: { params: z.object({ host }) }, responses: noContent },
  )
  app.openapi(forget, async (context) => {
    await repositories.forgetHostKey(context.get('caller'), context.req.valid('param').host)
    return context.body(null, 204)
  })
}

/** How a call with an optional key is made. */
export function keyedCall(context: AppContext): KeyedCall {
  return {
    idempotencyKey: context.req.header('idempotency-key') ?? null,
    signal: context.get('operation').signal,
  }
}
