import type { IncomingMessage, ServerResponse } from 'node:http'
import { HearthError } from '@hearth/contract'
import type { Services } from '../app-env.ts'
import { closeAfterAnswer } from '../bodies/lingering-close.ts'
import { failureHeaders, failureOf, statusOf } from '../failures.ts'
import type { Operation } from '../operation.ts'
import { useSandbox } from '../sandbox-use.ts'
import { forwardRequest } from './forward-request.ts'
import { LINK_COOKIE } from './headers.ts'
import { previewAccess, type PreviewAccess } from './preview-access.ts'
import type { PreviewTarget } from './preview-host.ts'
import { publicScheme } from './public-address.ts'

/** Requests to host names of previews. Nothing of the API is there: every path belongs to the program in the sandbox. */
export async function handlePreview(
  services: Services,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  operation: Operation,
  target: PreviewTarget | null,
): Promise<void> {
  operation.name = 'preview.forward'
  try {
    if (target === null) throw new HearthError('not_found', 'this host name is no preview')
    const access = await previewAccess(services, incoming, target, operation)
    if (access.link !== null && isNavigation(incoming)) {
      return redirect(outgoing, access.path, access.link, publicScheme(services.preview) === 'https')
    }
    await forward(services, incoming, outgoing, operation, target, access)
  } catch (error) {
    refusePreview(incoming, outgoing, operation, operation.failed(error))
  }
}

async function forward(
  services: Services,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  operation: Operation,
  target: PreviewTarget,
  access: PreviewAccess,
): Promise<void> {
  using use = await useSandbox(services, access.caller, target.sandbox)
  operation.sandboxId = use.sandbox.id
  const { port } = target
  const { path } = access
  const forwarding = {
    services,
    incoming,
    sandbox: use.sandbox,
    port,
    path,
    mode: 'host' as const,
    signal: operation.signal,
  }
  await forwardRequest(forwarding, outgoing)
}

/** A browser that opens a link: it gets the token as a cookie, and an address that can be shared without it. */
function redirect(
  outgoing: ServerResponse,
  path: string,
  link: { token: string; expiresAt: number },
  isSecure: boolean,
): void {
  const seconds = Math.max(1, Math.floor((link.expiresAt - Date.now()) / 1000))
  outgoing.writeHead(302, {
    location: path.replace(/^\/+/, '/'),
    'set-cookie': `${LINK_COOKIE}=${link.token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${isSecure ? '; Secure' : ''}`,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  })
  outgoing.end()
}

function isNavigation(incoming: IncomingMessage): boolean {
  return incoming.method === 'GET' && /\btext\/html\b/i.test(incoming.headers.accept ?? '')
}

/** Hearth's own answer, where the program has not answered yet. */
export function refusePreview(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  operation: Operation,
  failure: HearthError,
): void {
  if (outgoing.headersSent) return void outgoing.destroy()
  const body = JSON.stringify({ error: failureOf(failure, operation.requestId) })
  closeAfterAnswer(incoming, outgoing)
  outgoing.writeHead(statusOf(failure), failureHeaders(failure)).end(body)
}
