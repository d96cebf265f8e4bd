import { ERROR_CODES, HearthError, REFUSALS, type Refusal } from '@hearth/contract'
import type { Headers, Inbound } from './message.ts'

/** What a person or a model can do about a refusal. */
const SUGGESTIONS: Partial<Record<Refusal, string>> = {
  placeholder_misplaced:
    'This value stands for a secret. Send it only to the name and in the place that the secret is bound to; it is replaced there.',
  malformed: 'Send the request in the plain form that every server reads the same way.',
  protocol_not_allowed: 'Use HTTP/1.1, HTTP/2 or WebSocket directly, without a proxy in between.',
  branch_not_allowed: 'Push to one of the branches that the message names.',
  name_mismatch: 'Send `Host` (or `:authority`) with the name that the connection was made for.',
}

const SERVER_FAILED =
  'The server beyond the gateway failed, not the sandbox: try again, or check the name and the port.'

export function refuse(refusal: Refusal, message: string, suggestion = SUGGESTIONS[refusal]): HearthError {
  return new HearthError('egress_refused', message, {
    context: { refusal },
    ...(suggestion === undefined ? {} : { suggestion }),
  })
}

export function upstreamFailed(message: string, cause?: unknown): HearthError {
  return new HearthError('port_refused', message, { cause, suggestion: SERVER_FAILED })
}

export function upstreamLate(message: string): HearthError {
  return new HearthError('timeout', message, { suggestion: SERVER_FAILED })
}

/** Why, when an error is a refusal. */
export function refusalOf(error: unknown): Refusal | null {
  if (!HearthError.isInstance(error) || error.code !== 'egress_refused') return null
  return REFUSALS.find((refusal) => refusal === error.context['refusal']) ?? null
}

export function errorBody(error: HearthError): Buffer {
  const refusal = refusalOf(error)
  const { code, message, suggestion } = error
  return Buffer.from(
    `${JSON.stringify({ error: { code, ...(refusal === null ? {} : { refusal }), message, suggestion } })}\n`,
  )
}

/** A whole answer that is the gateway's own. */
export function answer(inbound: Inbound, error: HearthError): number {
  const { status } = ERROR_CODES[error.code]
  const body = errorBody(error)
  const headers: Headers = [
    ['content-type', 'application/json'],
    ['content-length', String(body.length)],
    ['cache-control', 'no-store'],
  ]
  inbound.reply.begin(status, '', headers)
  if (inbound.method !== 'HEAD') inbound.reply.sink.write(body)
  inbound.reply.end([])
  return status
}

/** Git shows the reason of a refused push only when the request itself succeeds. */
export function answerPush(inbound: Inbound, report: Buffer): void {
  inbound.reply.begin(200, '', [
    ['content-type', 'application/x-git-receive-pack-result'],
    ['content-length', String(report.length)],
    ['cache-control', 'no-store'],
  ])
  inbound.reply.sink.write(report)
  inbound.reply.end([])
}
