import type { IncomingMessage, ServerResponse } from 'node:http'
import { HearthError } from '@hearth/contract'
import type { Services } from '../app-env.ts'
import type { Operation } from '../operation.ts'
import { useSandbox } from '../sandbox-use.ts'
import { forwardRequest } from './forward-request.ts'
import { LINK_PATH } from './headers.ts'
import { requireLink, type LinkAccess } from './preview-access.ts'
import { refusePreview } from './previews.ts'

/** Sandboxes reach the API alone, whatever links they know. */
export function isLinkPath({ inside }: Pick<Services, 'inside'>, incoming: IncomingMessage): boolean {
  return incoming.url?.startsWith(LINK_PATH) === true && inside.sandboxOf(incoming) === null
}

/** The token stays in the path, so that relative addresses of a page keep it. Null for any other path. */
function parseLinkPath(url: string): { readonly token: string; readonly path: string } | null {
  const [, token, path] = /^\/preview\/([\w.-]{1,700})(\/[^#]*)$/.exec(url) ?? []
  return token === undefined || path === undefined ? null : { token, path }
}

/** Whom a link lets in, and where the request leads. */
export async function linkAccess(
  services: Services,
  url: string,
  operation: Operation,
): Promise<LinkAccess & { readonly path: string }> {
  operation.name = 'preview.forward'
  const parsed = parseLinkPath(url)
  if (parsed === null) throw new HearthError('not_found', `a link is ${LINK_PATH}TOKEN/ and what follows`)
  return { ...(await requireLink(services, services.links.open(parsed.token), operation)), path: parsed.path }
}

/** Requests by a signed link that has no host name of its own. */
export async function handleLinkPath(
  services: Services,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  operation: Operation,
): Promise<void> {
  try {
    const { caller, target, path } = await linkAccess(services, incoming.url ?? '', operation)
    if (isPreflight(incoming)) return void outgoing.writeHead(204, PREFLIGHT).end()
    using use = await useSandbox(services, caller, target.sandbox)
    operation.sandboxId = use.sandbox.id
    const { port } = target
    const { signal } = operation
    const forwarding = { services, incoming, sandbox: use.sandbox, port, path, mode: 'link', signal } as const
    await forwardRequest(forwarding, outgoing)
  } catch (error) {
    refusePreview(incoming, outgoing, operation, operation.failed(error))
  }
}

/** What scripts of such a page may ask of their own server: their origin is none, and the token is in the address. */
const PREFLIGHT = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': '*',
  'access-control-max-age': '600',
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}
