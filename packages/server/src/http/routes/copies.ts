import { z } from '@hono/zod-openapi'
import {
  BOUNDS,
  diffOptionsSchema,
  fileChangeSchema,
  forkRequestSchema,
  forkViewSchema,
  lineageViewSchema,
  mergeRequestSchema,
  mergeViewSchema,
  snapshotViewSchema,
  takeSnapshotSchema,
} from '@hearth/contract'
import type { App, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { answerPatiently } from '../bodies/patient-answer.ts'
import { describeRoute, idempotencyHeaders, jsonAnswer, jsonBody, queryInteger, sandboxParameters } from '../openapi.ts'
import { sandboxId } from '../sandbox-use.ts'
import { changeView, lineageView, mergeView, snapshotView } from '../snapshot-views.ts'

const MOST_CONTENT_BYTES = 16 * 1024 * 1024
const paths = z.string().max(BOUNDS.pathBytes)

const diffQuery = z.object({
  since: diffOptionsSchema.shape.since,
  /** Only below these; may be given several times. */
  path: z.union([paths, z.array(paths).max(1000)]).optional(),
  contentBytes: queryInteger(0, MOST_CONTENT_BYTES).optional(),
})

/** Captures and copies of a sandbox. */
export function copyRoutes(app: App, services: Services): void {
  const { copies } = services.controlPlane
  const before = boundedJson(services.limits)

  const snapshot = describeRoute(
    { name: 'sandbox.snapshot', summary: 'Capture a sandbox as it is now; it goes on', scope: 'sandbox:write', before },
    {
      method: 'post',
      path: '/v1/sandboxes/{id}/snapshots',
      request: { params: sandboxParameters, headers: idempotencyHeaders, ...jsonBody(takeSnapshotSchema) },
      responses: { 201: jsonAnswer(snapshotViewSchema, 'The snapshot.') },
    },
  )
  app.openapi(snapshot, async (context) => {
    const call = {
      idempotencyKey: context.req.valid('header')['idempotency-key'] ?? null,
      signal: context.get('operation').signal,
    }
    const taken = copies.snapshot(context.get('caller'), sandboxId(context), context.req.valid('json'), call)
    return await answerPatiently(context, services, 201, taken.then(snapshotView))
  })

  const fork = describeRoute(
    {
      name: 'sandbox.fork',
      summary: 'Copies of a sandbox as it is now: all, or none; it goes on',
      scope: 'sandbox:write',
      before,
    },
    {
      method: 'post',
      path: '/v1/sandboxes/{id}/fork',
      request: { params: sandboxParameters, headers: idempotencyHeaders, ...jsonBody(forkRequestSchema) },
      responses: { 201: jsonAnswer(forkViewSchema, 'All children run.') },
    },
  )
  app.openapi(fork, async (context) => {
    const call = {
      idempotencyKey: context.req.valid('header')['idempotency-key'] ?? null,
      signal: context.get('operation').signal,
    }
    const made = copies.fork(context.get('caller'), sandboxId(context), context.req.valid('json'), call)
    return await answerPatiently(context, services, 201, made)
  })

  comparisonRoutes(app, services)
}

function comparisonRoutes(app: App, services: Services): void {
  const { copies } = services.controlPlane

  const diff = describeRoute(
    { name: 'sandbox.diff', summary: 'What changed in the files of a sandbox', scope: 'files' },
    {
      method: 'get',
      path: '/v1/sandboxes/{id}/diff',
      request: { params: sandboxParameters, query: diffQuery },
      responses: { 200: jsonAnswer(z.object({ items: z.array(fileChangeSchema) }), 'All changes, by path.') },
    },
  )
  app.openapi(diff, async (context) => {
    const { since, path, contentBytes } = context.req.valid('query')
    const { signal } = context.get('operation')
    const changes = copies.diff(context.get('caller'), sandboxId(context), {
      signal,
      ...(since === undefined ? {} : { since }),
      ...(path === undefined ? {} : { paths: [path].flat() }),
      ...(contentBytes === undefined ? {} : { contentBytes }),
    })
    const answer = changes.then((found) => ({ items: found.map(changeView) }))
    return await answerPatiently(context, services, 200, answer)
  })

  const merge = describeRoute(
    {
      name: 'sandbox.merge',
      summary: 'Bring what a fork changed back into its parent, three-way',
      scope: 'files',
      before: boundedJson(services.limits),
    },
    {
      method: 'post',
      path: '/v1/sandboxes/{id}/merge',
      request: { params: sandboxParameters, ...jsonBody(mergeRequestSchema) },
      responses: { 200: jsonAnswer(mergeViewSchema, 'What was applied; nothing where there are conflicts.') },
    },
  )
  app.openapi(merge, async (context) => {
    const { signal } = context.get('operation')
    const merged = copies.merge(context.get('caller'), sandboxId(context), context.req.valid('json'), signal)
    return await answerPatiently(context, services, 200, merged.then(mergeView))
  })

  const tree = describeRoute(
    { name: 'sandbox.tree', summary: 'All sandboxes that are related to one by forks', scope: 'sandbox:read' },
    {
      method: 'get',
      path: '/v1/sandboxes/{id}/tree',
      request: { params: sandboxParameters },
      responses: { 200: jsonAnswer(z.object({ items: z.array(lineageViewSchema) }), 'Oldest first.') },
    },
  )
  app.openapi(tree, async (context) => {
    const related = await copies.tree(context.get('caller'), sandboxId(context))
    return context.json({ items: related.map(lineageView) }, 200)
  })
}
