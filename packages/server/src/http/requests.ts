import type { IncomingMessage, ServerResponse } from 'node:http'
import type { getRequestListener, HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { HearthError } from '@hearth/contract'
import type { App } from './app-env.ts'
import { failureHeaders, failureOf, statusOf } from './failures.ts'
import type { Operation } from './operation.ts'

type FetchCallback = Parameters<typeof getRequestListener>[0]

/** Before any router: the request itself cannot be accepted. */
export function refuseRequest(outgoing: ServerResponse, operation: Operation, failure: HearthError): void {
  const body = JSON.stringify({ error: failureOf(operation.failed(failure), operation.requestId) })
  outgoing.writeHead(statusOf(failure), { ...failureHeaders(failure), connection: 'close' }).end(body)
}

/** The parser takes the first; something in front of this server might have looked at the other. */
export function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') hosts++
  }
  return hosts > 1
}

/** The router makes a new answer for HEAD, also of one that has been written to the connection already. */
export function fetchOf(app: App): FetchCallback {
  return (request, bindings) => {
    if (request.method !== 'HEAD') return app.fetch(request, bindings)
    return Promise.resolve(app.fetch(request, bindings)).then((answer) =>
      (bindings as HttpBindings).outgoing.headersSent ? RESPONSE_ALREADY_SENT : answer,
    )
  }
}

export function parserFailure(error: NodeJS.ErrnoException): HearthError {
  if (error.code === 'HPE_HEADER_OVERFLOW') return new HearthError('headers_too_large', 'the headers are too large')
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new HearthError('request_timeout', 'the headers came too slowly')
  return new HearthError('invalid_request', 'this is not HTTP that can be understood', { cause: error })
}
