import type { IncomingMessage, ServerResponse } from 'node:http'
import { HearthError } from '@hearth/contract'
import { requireUndelegated } from '../../../http/access/authenticator.ts'
import { requireScope } from '../../../http/access/scopes.ts'
import type { Operation } from '../../../http/operation.ts'
import { apiKey } from '../access/api-key.ts'
import type { E2b } from '../e2b.ts'
import { sendEmpty, sendJson } from '../../answers.ts'
import { RouteTable, type Found } from '../../route-table.ts'
import { e2bFailure, refuse } from '../failures.ts'
import { BUILD_ROUTES } from '../builds/build-routes.ts'
import { TAG_ROUTES } from '../builds/tag-routes.ts'
import { handleUpload, isUpload } from '../builds/upload-links.ts'
import { Call, type Route } from './call.ts'
import { COPY_ROUTES } from './copy-routes.ts'
import { OBSERVING_ROUTES } from './observing-routes.ts'
import { SANDBOX_ROUTES } from './sandbox-routes.ts'
import { unsupportedRoute } from './unsupported-routes.ts'
import { EVENT_ROUTES } from '../events/event-routes.ts'
import { LOG_ROUTES } from '../events/log-routes.ts'
import { WEBHOOK_ROUTES } from '../events/webhook-routes.ts'
import { handleVolumeContent, isVolumeContent } from '../volumes/volume-content.ts'
import { VOLUME_ROUTES } from '../volumes/volume-routes.ts'

const ROUTES = new RouteTable([
  // Before sandboxes by their identifiers: none is called `metrics`.
  ...OBSERVING_ROUTES,
  ...SANDBOX_ROUTES,
  ...TAG_ROUTES,
  ...COPY_ROUTES,
  ...EVENT_ROUTES,
  ...LOG_ROUTES,
  ...WEBHOOK_ROUTES,
  ...BUILD_ROUTES,
  ...VOLUME_ROUTES,
])

/** E2B's REST API. Everything but its health, links for files of builds and what is in volumes needs a key. */
export async function handleControlPlane(
  e2b: E2b,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  operation: Operation,
): Promise<void> {
  if (isUpload(incoming)) return await handleUpload(e2b, incoming, outgoing, operation)
  if (isVolumeContent(incoming)) return await handleVolumeContent(e2b, incoming, outgoing, operation)
  operation.name = 'e2b.unknown'
  try {
    const [path = '/', query = ''] = (incoming.url ?? '/').split('?', 2)
    if (path === '/health' && incoming.method === 'GET') {
      operation.name = 'system.health'
      return sendEmpty(outgoing, 204)
    }
    const { access } = e2b.services
    const caller = access.caller(requireUndelegated(await access.verify(apiKey(incoming.headers), incoming)), operation)
    const { route, parameters } = find(incoming.method ?? 'GET', path)
    operation.name = route.name
    if (route.scope !== null) requireScope(caller.scopes, route.scope)
    const where = { query: new URLSearchParams(query), parameters }
    const answer = await route.handle(new Call(e2b, { incoming, operation, caller }, where))
    if (answer.json === undefined) sendEmpty(outgoing, answer.status)
    else sendJson(outgoing, answer.status, answer.json, answer.headers)
  } catch (error) {
    const failure = operation.failed(error)
    refuse(incoming, outgoing, failure, e2bFailure(failure))
  }
}

function find(method: string, path: string): Found<Route> {
  const found = ROUTES.find(method, path)
  if (found !== null) return found
  const unsupported = unsupportedRoute(method, path)
  if (unsupported !== null) return { route: unsupported, parameters: {} }
  throw new HearthError('not_found', 'there is nothing at this path')
}
