import type { IncomingMessage, ServerResponse } from 'node:http'
import { HearthError } from '@hearth/contract'
import { readBody } from '../../../http/bodies/read-body.ts'
import { callerOf, requireUndelegated } from '../../../http/access/authenticator.ts'
import { effectiveScopes, requireScope } from '../../../http/access/scopes.ts'
import type { Operation } from '../../../http/operation.ts'
import { sendEmpty } from '../../answers.ts'
import { sameText } from '../access/access-tokens.ts'
import type { Call } from '../control/call.ts'
import type { E2b } from '../e2b.ts'
import { e2bFailure, refuse } from '../failures.ts'

const LINK_MS = 3_600_000
const PATH = /^\/build-files\/([\w-]{1,64})\/([\w-]{1,64})\/([0-9a-f]{64})\/(\d{1,15})\/([\w-]{43})$/

/** Where files of a build are sent without a key: for one key, one hash, an hour, and until something was sent. */
export function uploadLink(call: Call, hash: string): string {
  const { tenantId, keyId } = call.caller
  const issued = Date.now()
  const signature = call.e2b.tokens.upload({ tenantId, keyId, hash, issued })
  return `${originOf(call)}/build-files/${tenantId}/${keyId}/${hash}/${issued}/${signature}`
}

/** Whether a request is one for such a link. */
export function isUpload({ method, url }: IncomingMessage): boolean {
  return method === 'PUT' && (url ?? '').startsWith('/build-files/')
}

export async function handleUpload(
  e2b: E2b,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  operation: Operation,
): Promise<void> {
  operation.name = 'e2b.template.upload'
  try {
    const { access, limits } = e2b.services
    const { tenantId, keyId, hash, issued } = await access.guarded(incoming, async () => verified(e2b, incoming))
    const key = await access.keys.find(tenantId, keyId)
    if (key === null) throw new HearthError('unauthorized', 'the key of this link is gone')
    const scopes = effectiveScopes(key.scopes)
    const caller = callerOf(requireUndelegated(key), scopes, operation)
    requireScope(access.admit(caller, operation).scopes, 'sandbox:write')
    if (issued < Date.now() - LINK_MS) throw new HearthError('unauthorized', 'the link has expired')
    const since = await e2b.buildFiles.present(tenantId, hash)
    if (since !== null && since >= issued) throw new HearthError('conflict', 'the link was used already')
    const bounds = { maximumBytes: limits.uploadBytes, idleMs: limits.bodyIdleMs }
    await e2b.buildFiles.write(tenantId, hash, readBody(incoming, bounds))
    sendEmpty(outgoing, 200)
  } catch (error) {
    const failure = operation.failed(error)
    refuse(incoming, outgoing, failure, e2bFailure(failure))
  }
}

function verified(e2b: E2b, { url }: IncomingMessage) {
  const [, tenantId = '', keyId = '', hash = '', issued = '', signature = ''] = PATH.exec(url ?? '') ?? []
  const upload = { tenantId, keyId, hash, issued: Number(issued) }
  if (signature !== '' && sameText(signature, e2b.tokens.upload(upload))) return upload
  throw new HearthError('unauthorized', 'invalid signature')
}

/** The address at which the client reached us: it sends its files the same way. */
function originOf({ incoming, e2b }: Call): string {
  const host = incoming.headers.host ?? ''
  if (!/^[\w.:[\]-]{1,255}$/.test(host)) throw new HearthError('invalid_request', 'host: is missing')
  const behind = host === `api.${e2b.domain()}` || host.startsWith(`api.${e2b.domain()}:`)
  const scheme = incoming.headers['x-forwarded-proto'] ?? (behind ? 'https' : 'http')
  return `${scheme === 'https' ? 'https' : 'http'}://${host}`
}
