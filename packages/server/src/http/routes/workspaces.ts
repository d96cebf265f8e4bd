import {
  collectedSchema,
  collectRequestSchema,
  pageSchema,
  updateWorkspaceSchema,
  workspaceSourceSchema,
  workspaceViewSchema,
} from '@hearth/contract'
import type { App, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { answerPatiently } from '../bodies/patient-answer.ts'
import { describeRoute, idempotencyHeaders, jsonAnswer, jsonBody, noContent, pageQuery } from '../openapi.ts'
import { keyedCall } from './repositories.ts'
import { workspaceParameters } from './workspace-changes.ts'

const oneWorkspace = { 200: jsonAnswer(workspaceViewSchema, 'The workspace.') } as const
const scope = 'workspaces'

/** Durable checkouts. */
export function workspaceRoutes(app: App, services: Services): void {
  const { workspaces } = services.controlPlane
  const before = boundedJson(services.limits)

  const create = describeRoute(
    { name: 'workspace.create', summary: 'Make a writable checkout of a repository, on its own branch', scope, before },
    {
      method: 'post',
      path: '/v1/workspaces',
      request: { ...jsonBody(workspaceSourceSchema), headers: idempotencyHeaders },
      responses: { 201: jsonAnswer(workspaceViewSchema, 'The workspace.') },
    },
  )
  app.openapi(create, async (context) => {
    const made = workspaces.create(context.get('caller'), context.req.valid('json'), keyedCall(context))
    return await answerPatiently(context, services, 201, made)
  })

  const list = describeRoute(
    { name: 'workspace.list', summary: 'List workspaces', scope },
    {
      method: 'get',
      path: '/v1/workspaces',
      request: { query: pageQuery },
      responses: { 200: jsonAnswer(pageSchema(workspaceViewSchema), 'One page, newest first.') },
    },
  )
  app.openapi(list, async (context) => {
    const { limit = 100, cursor = null } = context.req.valid('query')
    const page = await workspaces.list(context.get('caller'), { limit, cursor })
    return context.json({ items: [...page.items], next: page.next }, 200)
  })

  const collect = describeRoute(
    {
      name: 'workspace.collect',
      summary: 'Give up the files of workspaces that nobody has used for long; what had changed is saved first',
      scope,
      before,
    },
    {
      method: 'post',
      path: '/v1/workspaces/collect',
      request: jsonBody(collectRequestSchema),
      responses: { 200: jsonAnswer(collectedSchema, 'What went, or would go.') },
    },
  )
  app.openapi(collect, async (context) => {
    const collected = workspaces.collect(context.get('caller'), context.req.valid('json'))
    return await answerPatiently(context, services, 200, collected)
  })

  singleRoutes(app, services)
}

function singleRoutes(app: App, services: Services): void {
  const { workspaces } = services.controlPlane
  const path = '/v1/workspaces/{workspace}'

  const get = describeRoute(
    { name: 'workspace.get', summary: 'Get a workspace', scope },
    { method: 'get', path, request: { params: workspaceParameters }, responses: oneWorkspace },
  )
  app.openapi(get, async (context) =>
    context.json(await workspaces.get(context.get('caller'), context.req.valid('param').workspace), 200),
  )

  const update = describeRoute(
    {
      name: 'workspace.update',
      summary: 'Pin a workspace, keep that of a fork, or name its branch',
      scope,
      before: boundedJson(services.limits),
    },
    {
      method: 'put',
      path,
      request: { params: workspaceParameters, ...jsonBody(updateWorkspaceSchema) },
      responses: oneWorkspace,
    },
  )
  app.openapi(update, async (context) => {
    const { workspace } = context.req.valid('param')
    return context.json(await workspaces.update(context.get('caller'), workspace, context.req.valid('json')), 200)
  })

  const remove = describeRoute(
    { name: 'workspace.remove', summary: 'Remove a workspace that no sandbox has, with all that is in it', scope },
    { method: 'delete', path, request: { params: workspaceParameters }, responses: noContent },
  )
  app.openapi(remove, async (context) => {
    await workspaces.remove(context.get('caller'), context.req.valid('param').workspace)
    return context.body(null, 204)
  })
}
