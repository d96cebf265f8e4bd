import { HearthError } from '@hearth/contract'
import { bearerToken } from './access/key-cache.ts'
import type { App, AppContext, Services } from './app-env.ts'
import { closeAfterAnswer } from './bodies/lingering-close.ts'
import { failureHeaders, failureOf, statusOf } from './failures.ts'
import { newApp } from './openapi.ts'
import type { Operations } from './operations.ts'
import { archiveRoutes } from './routes/archive.ts'
import { codeRoutes } from './routes/code.ts'
import { copyRoutes } from './routes/copies.ts'
import { eventRoutes } from './routes/events.ts'
import { execRoutes } from './routes/exec.ts'
import { fileTreeRoutes } from './routes/file-tree.ts'
import { fileRoutes } from './routes/files.ts'
import { keyRoutes } from './routes/keys.ts'
import { poolRoutes } from './routes/pool.ts'
import { policyRoutes } from './routes/policies.ts'
import { portRoutes } from './routes/ports.ts'
import { processRoutes } from './routes/processes.ts'
import { runMessageRoutes } from './routes/run-messages.ts'
import { runRoutes } from './routes/runs.ts'
import { repositoryRoutes } from './routes/repositories.ts'
import { sandboxRoutes } from './routes/sandboxes.ts'
import { sleepRoutes } from './routes/sleep.ts'
import { secretRoutes } from './routes/secrets.ts'
import { snapshotRoutes } from './routes/snapshots.ts'
import { systemRoutes } from './routes/system.ts'
import { templateRoutes } from './routes/templates.ts'
import { quotaRoutes } from './routes/quotas.ts'
import { tenantKeyRoutes } from './routes/tenant-keys.ts'
import { tenantRoutes } from './routes/tenants.ts'
import { volumeRoutes } from './routes/volumes.ts'
import { watchRoutes } from './routes/watch.ts'
import { workspaceChangeRoutes } from './routes/workspace-changes.ts'
import { workspaceRoutes } from './routes/workspaces.ts'
import { webSocketRoutes } from './routes/web-sockets.ts'

const ROUTES = [
  systemRoutes,
  sandboxRoutes,
  execRoutes,
  processRoutes,
  fileRoutes,
  fileTreeRoutes,
  archiveRoutes,
  watchRoutes,
  codeRoutes,
  webSocketRoutes,
  portRoutes,
  copyRoutes,
  sleepRoutes,
  snapshotRoutes,
  volumeRoutes,
  templateRoutes,
  repositoryRoutes,
  workspaceRoutes,
  workspaceChangeRoutes,
  policyRoutes,
  secretRoutes,
  runRoutes,
  runMessageRoutes,
  eventRoutes,
  keyRoutes,
  tenantRoutes,
  tenantKeyRoutes,
  quotaRoutes,
  poolRoutes,
] as const

/** The API. Everything below `/v1` needs a key; whatever fails is an error body. */
export function createApp(services: Services, operations: Operations): App {
  const app = newApp()
  app.openAPIRegistry.registerComponent('securitySchemes', 'key', {
    type: 'http',
    scheme: 'bearer',
    description: 'A key: `hearth_...`. What it may do are its scopes.',
  })
  app.use(async (context, next) => {
    context.set('operation', operations.of(context.env.incoming))
    await next()
  })
  app.use('/v1/*', async (context, next) => {
    const operation = context.get('operation')
    const key = await services.access.verify(
      bearerToken(context.env.incoming.headers.authorization),
      context.env.incoming,
    )
    context.set('key', key)
    context.env.outgoing.setHeader('cache-control', 'no-store')
    context.set('caller', services.access.caller(key, operation))
    await next()
  })
  for (const routes of ROUTES) routes(app, services)

  const methods = methodTable(app)
  app.notFound((context) => {
    const allowed = methods(context.req.path)
    if (allowed.length === 0)
      return failureResponse(context, new HearthError('not_found', 'there is nothing at this path'))
    const message = `${context.req.method} is not for this path`
    return failureResponse(
      context,
      new HearthError('method_not_allowed', message, { context: { allow: allowed.join(', ') } }),
    )
  })
  app.onError((error, context) => failureResponse(context, error))
  return app
}

export function failureResponse(context: AppContext, error: unknown): Response {
  const operation = context.get('operation')
  const failure = operation.failed(error)
  closeAfterAnswer(context.env.incoming, context.env.outgoing)
  const body = JSON.stringify({ error: failureOf(failure, operation.requestId) })
  return new Response(body, { status: statusOf(failure), headers: failureHeaders(failure) })
}

/** Which methods a path has, from the description itself. */
function methodTable(app: App): (path: string) => string[] {
  const known: { readonly pattern: RegExp; readonly method: string }[] = []
  for (const definition of app.openAPIRegistry.definitions) {
    if (definition.type !== 'route') continue
    const pattern = new RegExp(`^${definition.route.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`)
    known.push({ pattern, method: definition.route.method.toUpperCase() })
  }
  return (path) => {
    const methods = known.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    return [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)]
  }
}
