import { z } from '@hono/zod-openapi'
import { HearthError } from '@hearth/contract'
import type { App, Services } from '../app-env.ts'
import { describeRoute, processParameters, queryInteger, sandboxParameters } from '../openapi.ts'
import { withSandbox } from '../sandbox-use.ts'

const switching = { 101: { description: 'A WebSocket.' } } as const

/**
 * How the paths of WebSockets answer an ordinary request: as they would refuse the upgrade, so that a client that cannot read the answer
 * to its handshake can ask again without one.
 */
export function webSocketRoutes(app: App, services: Services): void {
  const attach = describeRoute(
    {
      name: 'process.attach',
      summary: 'A WebSocket to a process: output, input and the size of its terminal',
      scope: 'exec',
    },
    {
      method: 'get',
      path: '/v1/sandboxes/{id}/processes/{process}/attach',
      request: {
        params: processParameters,
        query: z.object({ offset: queryInteger(0, Number.MAX_SAFE_INTEGER).optional() }),
      },
      responses: switching,
    },
  )
  app.openapi(attach, async (context) => {
    const { process: id } = context.req.valid('param')
    const known = await withSandbox(services, context, (sandbox) => sandbox.processes())
    if (!known.some((process) => process.id === id))
      throw new HearthError('process_not_found', `there is no process ${id}`)
    throw upgradeRequired()
  })

  const stream = describeRoute(
    { name: 'port.stream', summary: 'A WebSocket with the raw bytes of a connection to a port', scope: 'ports' },
    {
      method: 'get',
      path: '/v1/sandboxes/{id}/ports/{port}/stream',
      request: { params: sandboxParameters.extend({ port: queryInteger(1, 65_535) }) },
      responses: switching,
    },
  )
  app.openapi(stream, async (context) => {
    await withSandbox(services, context, async () => {})
    throw upgradeRequired()
  })
}

function upgradeRequired(): HearthError {
  return new HearthError('upgrade_required', 'this path is a WebSocket')
}
