import type { IncomingMessage } from 'node:http'
import { HearthError, type SandboxId, type Scope } from '@hearth/contract'
import type { Caller } from '../../../control-plane.ts'
import { callerOf, requireUndelegated } from '../../../http/access/authenticator.ts'
import { effectiveScopes } from '../../../http/access/scopes.ts'
import type { Operation } from '../../../http/operation.ts'
import { markOf } from '../mark.ts'
import type { E2b } from '../e2b.ts'
import type { Target } from '../target.ts'
import { sameText, signatureOf, type Grant, type SignedText } from './access-tokens.ts'

const TRAFFIC_SCOPES: ReadonlySet<Scope> = new Set(['ports'])
/** A tenant with more keys than this has links of the first ones alone. */
const MOST_KEYS = 1000

/** Who calls, and which sandbox it may reach into. */
export interface SandboxAccess {
  readonly caller: Caller
  readonly sandbox: SandboxId
}

/** By the token of `X-Access-Token`. */
export async function tokenAccess(
  e2b: E2b,
  incoming: IncomingMessage,
  target: Target,
  operation: Operation,
): Promise<SandboxAccess> {
  const token = incoming.headers['x-access-token']
  const grant = typeof token === 'string' && target.sandbox !== null ? e2b.tokens.verify(token, target.sandbox) : null
  if (grant === null) throw unauthorized()
  return await granted(e2b, grant, operation)
}

/** By the signature of a link to a file. The sandbox may have to be found by it. */
export async function signedAccess(
  e2b: E2b,
  incoming: IncomingMessage,
  target: Target,
  signed: { readonly signature: string | null; readonly text: SignedText },
  operation: Operation,
): Promise<SandboxAccess> {
  const { signature, text } = signed
  if (signature === null) throw new HearthError('unauthorized', 'missing signature query parameter')
  const grant = await e2b.services.access.guarded(incoming, async () => {
    const found =
      target.sandbox === null
        ? e2b.tokens.signedBy(signature, text)
        : await signerOf(e2b, target.sandbox, signature, text)
    if (found === null) throw new HearthError('unauthorized', 'invalid signature')
    return found
  })
  if (text.expiration !== null && !(Number(text.expiration) * 1000 > Date.now())) {
    throw new HearthError('unauthorized', 'signature is already expired')
  }
  return await granted(e2b, grant, operation)
}

/** For ports of programs: open to everybody who knows the identifier, unless the sandbox was made with private traffic or elsewhere. */
export async function trafficAccess(
  e2b: E2b,
  incoming: IncomingMessage,
  sandbox: SandboxId,
  operation: Operation,
): Promise<SandboxAccess> {
  const row = await e2b.sandboxes.find(sandbox)
  if (row === null) throw new HearthError('sandbox_not_found', 'The sandbox was not found')
  if (markOf(row)?.privateTraffic !== false) requireTrafficToken(e2b, incoming, sandbox)
  const found = {
    tenantId: row.tenantId,
    keyId: `e2b traffic ${sandbox}`,
    scopes: TRAFFIC_SCOPES,
    requestId: operation.requestId,
    holder: null,
  }
  return { caller: e2b.services.access.admit(found, operation), sandbox }
}

function requireTrafficToken(e2b: E2b, incoming: IncomingMessage, sandbox: SandboxId): void {
  const token = incoming.headers['e2b-traffic-access-token']
  if (typeof token === 'string' && sameText(token, e2b.tokens.traffic(sandbox))) return
  const state = token === undefined ? 'is missing' : 'is wrong'
  throw new HearthError(
    'forbidden',
    `Sandbox is secured with traffic access token. Token header 'e2b-traffic-access-token' ${state}`,
  )
}

async function granted(e2b: E2b, grant: Grant, operation: Operation): Promise<SandboxAccess> {
  return { caller: await keyCaller(e2b, grant, operation), sandbox: grant.sandbox }
}

/** A grant goes as far as its key, and ends with it. */
export async function keyCaller(
  e2b: E2b,
  { tenantId, keyId }: Pick<Grant, 'tenantId' | 'keyId'>,
  operation: Operation,
): Promise<Caller> {
  const { access } = e2b.services
  const key = await access.keys.find(tenantId, keyId)
  if (key === null) throw unauthorized()
  const scopes = effectiveScopes(key.scopes)
  return access.admit(callerOf(requireUndelegated(key), scopes, operation), operation)
}

async function signerOf(e2b: E2b, sandbox: SandboxId, signature: string, text: SignedText): Promise<Grant | null> {
  const row = await e2b.sandboxes.find(sandbox)
  if (row === null) return null
  const { tenantId } = row
  const { items } = await e2b.services.keys.list(tenantId, { limit: MOST_KEYS })
  for (const { id } of items) {
    const grant = { sandbox, tenantId, keyId: id }
    if (sameText(signature, signatureOf(text, e2b.tokens.derive(grant)))) return grant
  }
  return null
}

function unauthorized(): HearthError {
  const message = 'unauthorized access, please provide a valid access token or method signing if supported'
  return new HearthError('unauthorized', message)
}
