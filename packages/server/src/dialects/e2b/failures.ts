import type { IncomingMessage, ServerResponse } from 'node:http'
import { HearthError, type ErrorCode } from '@hearth/contract'
import { closeAfterAnswer } from '../../http/bodies/lingering-close.ts'
import { failureHeaders, statusOf } from '../../http/failures.ts'
import { sendJson } from '../answers.ts'

/** Where E2B's clients expect another status than the native API has. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  // A sandbox that has ended is one that is not there, and "not supported" must not look like "already so".
  sandbox_ended: 404,
  capability_unsupported: 501,
  memory_unsupported: 501,
  template_unsupported: 400,
  rung_unavailable: 400,
  not_a_directory: 400,
  is_a_directory: 400,
  spawn_failed: 400,
}

export function e2bStatus(error: HearthError): number {
  return STATUSES[error.code] ?? statusOf(error)
}

/** The error body of the control plane and of envd's file calls. The clients decide by the `code` in it. */
export function e2bFailure(error: HearthError): { readonly code: number; readonly message: string } {
  return { code: e2bStatus(error), message: error.message }
}

/** Answers with an error, or breaks the connection off when an answer has begun. */
export function refuse(incoming: IncomingMessage, outgoing: ServerResponse, failure: HearthError, body: object): void {
  if (outgoing.headersSent) return void outgoing.destroy()
  closeAfterAnswer(incoming, outgoing)
  sendJson(outgoing, 'code' in body ? Number(body.code) : e2bStatus(failure), body, failureHeaders(failure))
}

/** What cannot be mapped is said by its name. */
export function unsupported(feature: string): HearthError {
  return new HearthError('capability_unsupported', `Hearth does not support this feature of E2B: ${feature}`, {
    suggestion: 'docs/e2b.md lists what is supported.',
  })
}
