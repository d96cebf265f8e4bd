import type { ServerResponse } from 'node:http'
import { HearthError } from '@hearth/contract'
import { failureHeaders, statusOf } from '../../http/failures.ts'
import { sendJson } from '../answers.ts'

/** Messages that hold these are repeated by the client for 20 seconds, which is for machines that are just starting. */
const REPEATED = /connect: connection refused|no route to host|i\/o timeout/gi

/** The client reads one text and decides by the status alone. */
export function refuse(outgoing: ServerResponse, failure: HearthError): void {
  if (outgoing.headersSent) return void outgoing.destroy()
  sendJson(outgoing, pandastackStatus(failure), { error: textOf(failure) }, failureHeaders(failure))
}

export function pandastackStatus(failure: HearthError): number {
  if (failure.code === 'sandbox_ended') return 404
  if (failure.code === 'capability_unsupported' || failure.code === 'memory_unsupported') return 501
  return statusOf(failure)
}

function textOf({ message, suggestion }: HearthError): string {
  const text = suggestion === '' ? message : `${message}. ${suggestion}`
  return text.replaceAll(REPEATED, 'unreachable')
}

/** What cannot be mapped is said by its name. */
export function unsupported(feature: string): HearthError {
  return new HearthError('capability_unsupported', `Hearth does not support this feature of PandaStack: ${feature}`, {
    suggestion: 'docs/pandastack.md lists what is supported.',
  })
}
