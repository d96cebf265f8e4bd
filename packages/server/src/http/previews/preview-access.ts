import type { IncomingMessage } from 'node:http'
import { HearthError, type Scope } from '@hearth/contract'
import type { Caller } from '../../control-plane.ts'
import { callerOf } from '../access/authenticator.ts'
import { requireScope } from '../access/scopes.ts'
import type { Services } from '../app-env.ts'
import type { Operation } from '../operation.ts'
import { cookieValue, KEY_HEADER, LINK_COOKIE, LINK_PARAMETER } from './headers.ts'
import type { PreviewTarget } from './preview-host.ts'
import type { LinkGrant } from './signed-links.ts'

const LINK_SCOPES: ReadonlySet<Scope> = new Set(['ports'])

export interface PreviewAccess {
  readonly caller: Caller
  /** The path and query for the program, without the token of a link. */
  readonly path: string
  /** Set when the token came in the address: a browser is sent on with it as a cookie. */
  readonly link: { readonly token: string; readonly expiresAt: number } | null
}

/** Who calls a preview by its host name: a key, a link, or the cookie that a link left. */
export async function previewAccess(
  services: Services,
  incoming: IncomingMessage,
  target: PreviewTarget,
  operation: Operation,
): Promise<PreviewAccess> {
  const { path, token } = takeToken(incoming.url ?? '/')
  const key = keyOf(incoming)
  if (key !== null) {
    const caller = services.access.caller(await services.access.verify(key, incoming), operation)
    requireScope(caller.scopes, 'ports')
    return { caller, path, link: null }
  }
  const cookie = cookieValue(incoming.headers.cookie, LINK_COOKIE)
  if (token === null && cookie !== null) requireSameOrigin(incoming)
  const presented = token ?? cookie
  const grant = presented === null ? null : services.links.verify(presented, target.sandbox, target.port)
  const { caller, expiresAt } = await requireLink(services, grant, operation)
  return { caller, path, link: token === null ? null : { token, expiresAt } }
}

/** Whom a link lets in, to which port, and until when. */
export interface LinkAccess {
  readonly caller: Caller
  readonly target: PreviewTarget
  readonly expiresAt: number
}

/** A link counts while the key that made it does. */
export async function requireLink(
  services: Services,
  grant: LinkGrant | null,
  operation: Operation,
): Promise<LinkAccess> {
  const maker = grant === null ? null : await services.access.keys.find(grant.tenant, grant.key)
  if (grant === null || maker === null) {
    throw new HearthError('unauthorized', 'this preview is private: a signed link or a key is needed', {
      suggestion: `Make a link with \`hearth port\`, or send a key as \`${KEY_HEADER}\`.`,
    })
  }
  const caller = services.access.admit(callerOf(maker, LINK_SCOPES, operation), operation)
  const { sandbox, port, expiresAt } = grant
  return { caller, target: { sandbox, port }, expiresAt }
}

/** An `Authorization` that is not a key of ours is for the program in the sandbox. */
function keyOf(incoming: IncomingMessage): string | null {
  const own = incoming.headers[KEY_HEADER]
  if (typeof own === 'string') return own
  return /^Bearer +(hearth_key_[\w-]{1,200})$/i.exec(incoming.headers.authorization ?? '')?.[1] ?? null
}

/** A page of another origin, such as that of another sandbox, must not use the cookie of this one. */
function requireSameOrigin(incoming: IncomingMessage): void {
  const { origin, host } = incoming.headers
  const site = incoming.headers['sec-fetch-site']
  const foreign = site === 'cross-site' || site === 'same-site'
  const navigates = incoming.headers['sec-fetch-mode'] === 'navigate' && incoming.method === 'GET'
  const otherOrigin = origin !== undefined && origin.replace(/^https?:\/\//, '') !== host
  if ((foreign && !navigates) || otherOrigin) {
    throw new HearthError('forbidden', 'this preview is private: pages of other origins cannot call it')
  }
}

function takeToken(url: string): { readonly path: string; readonly token: string | null } {
  const question = url.indexOf('?')
  if (question < 0) return { path: url, token: null }
  const prefix = `${LINK_PARAMETER}=`
  const parameters = url.slice(question + 1).split('&')
  const found = parameters.find((parameter) => parameter.startsWith(prefix))
  if (found === undefined) return { path: url, token: null }
  const rest = parameters.filter((parameter) => !parameter.startsWith(prefix))
  const path = url.slice(0, question) + (rest.length === 0 ? '' : `?${rest.join('&')}`)
  return { path, token: found.slice(prefix.length) }
}
