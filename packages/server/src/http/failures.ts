import type { Duplex } from 'node:stream'
import { STATUS_CODES } from 'node:http'
import { ERROR_CODES, HearthError, type ErrorCode, type Failure } from '@hearth/contract'
import { HTTPException } from 'hono/http-exception'

const CODES_OF_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'body_too_large',
  415: 'unsupported_media_type',
}

const LINGER_MS = 1000

/** Whatever was thrown, as what the caller is told. What is not ours becomes `internal` and says nothing of itself. */
export function asHearthError(error: unknown): HearthError {
  if (HearthError.isInstance(error)) return error
  if (error instanceof HTTPException) {
    return new HearthError(CODES_OF_STATUS[error.status] ?? 'invalid_request', lowerFirst(error.message), {
      cause: error,
    })
  }
  return new HearthError('internal', 'the server failed; its log has the request id', { cause: error })
}

export function statusOf(error: HearthError): number {
  return ERROR_CODES[error.code].status
}

export function failureOf(error: HearthError, requestId: string): Failure {
  return { ...error.toJSON(), requestId }
}

/** Headers that some refusals need to be understood. */
export function failureHeaders(error: HearthError): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  const { retryAfterMs, allow, size } = error.context
  if (typeof retryAfterMs === 'number') headers['retry-after'] = String(Math.max(1, Math.ceil(retryAfterMs / 1000)))
  if (error.code === 'unauthorized') headers['www-authenticate'] = 'Bearer'
  if (error.code === 'method_not_allowed' && typeof allow === 'string') headers['allow'] = allow
  if (error.code === 'range_unsatisfiable' && typeof size === 'number') headers['content-range'] = `bytes */${size}`
  if (error.code === 'upgrade_required') Object.assign(headers, { upgrade: 'websocket', connection: 'Upgrade' })
  return headers
}

/** A refusal on a connection that has no response object: one that asked for an upgrade, or whose request could not be read. */
export function refuseSocket(socket: Duplex, error: HearthError, requestId: string, status = statusOf(error)): void {
  if (!socket.writable) return void socket.destroy()
  const body = JSON.stringify({ error: failureOf(error, requestId) })
  const headers = { ...failureHeaders(error), 'x-request-id': requestId, 'content-length': Buffer.byteLength(body) }
  const lines = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'}\r\n${lines.join('')}\r\n${body}`)
  // A client that does not close its side has had its answer.
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
