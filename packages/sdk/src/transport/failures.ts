import type { ErrorCode } from '@hearth/contract'
import { abortError, HearthError } from '../hearth-error.ts'

/** What an answer without an error body means: it comes from something between here and Hearth. */
const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  408: 'timeout',
  413: 'body_too_large',
  429: 'rate_limited',
  502: 'link_lost',
  503: 'link_lost',
  504: 'timeout',
}
const QUOTED_CHARACTERS = 200

interface WireError {
  readonly code?: unknown
  readonly message?: unknown
  readonly suggestion?: unknown
  readonly retryable?: unknown
  readonly context?: unknown
  readonly requestId?: unknown
}

/** The `error` of a body, of an event or of a frame. It may be anything: the server may be older, newer or none. */
export function wireFailure(wire: unknown, requestId: string | null = null): HearthError {
  const error: WireError = typeof wire === 'object' && wire !== null ? wire : {}
  const code = typeof error.code === 'string' ? (error.code as ErrorCode) : 'internal'
  return new HearthError(code, typeof error.message === 'string' ? error.message : `the server answered ${code}`, {
    ...(typeof error.suggestion === 'string' ? { suggestion: error.suggestion } : {}),
    ...(typeof error.retryable === 'boolean' ? { retryable: error.retryable } : {}),
    ...(typeof error.context === 'object' && error.context !== null ? { context: { ...error.context } } : {}),
    requestId: typeof error.requestId === 'string' ? error.requestId : requestId,
  })
}

/** True for a body that is an error, also of an answer whose status was sent before it was known. */
export function isErrorBody(body: unknown): body is { readonly error: object } {
  return (
    typeof body === 'object' &&
    body !== null &&
    'error' in body &&
    typeof body.error === 'object' &&
    body.error !== null &&
    'code' in body.error
  )
}

/** The error that an answer with a status of failure carries. */
export function statusFailure(response: Response, text: string): HearthError {
  const requestId = response.headers.get('x-request-id')
  const body = parsed(text)
  const failure = isErrorBody(body) ? wireFailure(body.error, requestId) : plainFailure(response, text, requestId)
  const waitMs = retryAfterMs(response)
  const { code, message, suggestion, retryable } = failure
  const context = { ...failure.context, status: response.status, ...(waitMs === null ? {} : { retryAfterMs: waitMs }) }
  return new HearthError(code, message, { suggestion, retryable, requestId: failure.requestId, context })
}

function plainFailure(response: Response, text: string, requestId: string | null): HearthError {
  const { status } = response
  if (status === 0 || (status >= 300 && status < 400)) {
    const location = response.headers.get('location') ?? 'another address'
    return new HearthError('invalid_request', `the server redirects to ${location}`, {
      suggestion: 'Set `url` or `HEARTH_URL` to the address that the message names.',
      requestId,
    })
  }
  const code = BY_STATUS[status] ?? (status < 500 ? 'invalid_request' : 'internal')
  const quoted = text.trim().slice(0, QUOTED_CHARACTERS)
  return new HearthError(code, `status ${status}${quoted === '' ? '' : `: ${quoted}`}`, {
    retryable: status === 429 || (status >= 502 && status <= 504),
    requestId,
  })
}

function retryAfterMs(response: Response): number | null {
  const value = response.headers.get('retry-after')
  if (value === null) return null
  const seconds = Number(value)
  const milliseconds = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - Date.now()
  return Number.isFinite(milliseconds) ? Math.max(0, milliseconds) : null
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not from Hearth: the status says what it is.
    return null
  }
}

/** What a failed `fetch`, or a body that broke, means to the caller. */
export function networkFailure(error: unknown, signal: AbortSignal | undefined, url: string): HearthError {
  if (HearthError.isInstance(error)) return error
  if (signal?.aborted === true) return HearthError.isInstance(signal.reason) ? signal.reason : abortError(signal)
  return new HearthError('link_lost', `no answer from ${url}: ${reasonOf(error)}`, { cause: error })
}

/** The innermost message: `fetch` itself says only that it failed. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof Error) return reasonOf(error.cause)
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code} ` : ''
  return `${code}${error.message}`.trim() || error.name
}
