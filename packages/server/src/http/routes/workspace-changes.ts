import { z } from '@hono/zod-openapi'
import {
  commitRequestSchema,
  commitViewSchema,
  DIFF_SINCE,
  pullRequestRequestSchema,
  pullRequestResultSchema,
  pushRequestSchema,
  pushViewSchema,
  workspaceDiffSchema,
  workspaceStatusSchema,
} from '@hearth/contract'
import type { App, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { answerPatiently } from '../bodies/patient-answer.ts'
import { describeRoute, idempotencyHeaders, jsonAnswer, jsonBody } from '../openapi.ts'
import { keyedCall } from './repositories.ts'

const scope = 'workspaces'
const path = '/v1/workspaces/{workspace}'

export const workspaceParameters = z.object({
  workspace: z.string().max(64).meta({ example: 'ws_01jd4q2m8r0000000000' }),
})

/** What changed in a workspace, and what becomes of it: all of it on the host, from the files as they are. */
export function workspaceChangeRoutes(app: App, services: Services): void {
  const { workspaces } = services.controlPlane

  const status = describeRoute(
    { name: 'workspace.status', summary: 'Look whether a workspace has changes', scope },
    {
      method: 'get',
      path: `${path}/status`,
      request: { params: workspaceParameters },
      responses: { 200: jsonAnswer(workspaceStatusSchema, 'What was found.') },
    },
  )
  app.openapi(status, async (context) => {
    const { signal } = context.get('operation')
    const found = workspaces.status(context.get('caller'), context.req.valid('param').workspace, signal)
    return await answerPatiently(context, services, 200, found)
  })

  const diff = describeRoute(
    { name: 'workspace.diff', summary: 'What changed in a workspace, as a patch', scope },
    {
      method: 'get',
      path: `${path}/diff`,
      request: { params: workspaceParameters, query: z.object({ since: z.enum(DIFF_SINCE).optional() }) },
      responses: { 200: jsonAnswer(workspaceDiffSchema, 'The changes; of one that was evicted, what was saved.') },
    },
  )
  app.openapi(diff, async (context) => {
    const { since = 'base' } = context.req.valid('query')
    const { signal } = context.get('operation')
    const found = workspaces.diff(context.get('caller'), context.req.valid('param').workspace, since, signal)
    return await answerPatiently(context, services, 200, found)
  })

  publishRoutes(app, services)
}

function publishRoutes(app: App, services: Services): void {
  const { workspaces } = services.controlPlane
  const before = boundedJson(services.limits)

  const commit = describeRoute(
    {
      name: 'workspace.commit',
      summary: 'Write the files of a workspace down as a commit on its branch',
      scope,
      before,
    },
    {
      method: 'post',
      path: `${path}/commit`,
      request: { params: workspaceParameters, headers: idempotencyHeaders, ...jsonBody(commitRequestSchema) },
      responses: { 200: jsonAnswer(commitViewSchema, 'The commit.') },
    },
  )
  app.openapi(commit, async (context) => {
    const { workspace } = context.req.valid('param')
    const made = workspaces.commit(context.get('caller'), workspace, context.req.valid('json'), keyedCall(context))
    return await answerPatiently(context, services, 200, made)
  })

  const push = describeRoute(
    {
      name: 'workspace.push',
      summary: 'Send the last commit of a workspace to the server of its repository',
      scope,
      before,
    },
    {
      method: 'post',
      path: `${path}/push`,
      request: { params: workspaceParameters, headers: idempotencyHeaders, ...jsonBody(pushRequestSchema) },
      responses: { 200: jsonAnswer(pushViewSchema, 'What was pushed.') },
    },
  )
  app.openapi(push, async (context) => {
    const { workspace } = context.req.valid('param')
    const pushed = workspaces.push(context.get('caller'), workspace, context.req.valid('json'), keyedCall(context))
    return await answerPatiently(context, services, 200, pushed)
  })

  mergeRoutes(app, services)
}

function mergeRoutes(app: App, services: Services): void {
  const { workspaces } = services.controlPlane
  const before = boundedJson(services.limits)

  const pullRequest = describeRoute(
    { name: 'workspace.pull_request', summary: 'Ask the forge for what was pushed to be merged', scope, before },
    {
      method: 'post',
      path: `${path}/pull-request`,
      request: { params: workspaceParameters, headers: idempotencyHeaders, ...jsonBody(pullRequestRequestSchema) },
      responses: { 200: jsonAnswer(pullRequestResultSchema, 'The pull request, also one that was open already.') },
    },
  )
  app.openapi(pullRequest, async (context) => {
    const { workspace } = context.req.valid('param')
    const asked = workspaces.pullRequest(
      context.get('caller'),
      workspace,
      context.req.valid('json'),
      keyedCall(context),
    )
    return await answerPatiently(context, services, 200, asked)
  })
}
