import { HearthError } from '@hearth/contract'
import { z } from 'zod'
import { forwardRequest } from '../../http/previews/forward-request.ts'
import { linkUrl } from '../../http/previews/public-address.ts'
import { routes, type Answer, type Call, type Route } from './call.ts'

const DEFAULT_LINK_SECONDS = 3600
const LONGEST_LINK_SECONDS = 7 * 24 * 3600
/** States of sockets in /proc/net/tcp: listening. */
const LISTENING = '0A'

export const PORT_ROUTES: readonly Route[] = routes('ports', {
  'GET /sandboxes/{id}/ports': ['ports', list],
  'POST /sandboxes/{id}/preview-token': ['ports', link],
})

/** What listens inside, as its kernel tells. */
async function list(call: Call): Promise<Answer> {
  const { stdout } = await call.outliving((sandbox, signal) =>
    sandbox.exec('cat /proc/net/tcp /proc/net/tcp6 2>/dev/null || true', { signal }),
  )
  const ports = stdout.split('\n').flatMap((line) => {
    const [, local = '', , state] = line.trim().split(/\s+/)
    const port = Number.parseInt(local.split(':')[1] ?? '', 16)
    return state === LISTENING && port > 0 ? [port] : []
  })
  const unique = [...new Set(ports)].toSorted((one, other) => one - other)
  return {
    status: 200,
    json: unique.map((port) => ({
      port,
      listening: true,
      source: 'detected',
      proxy_url: `/v1/sandboxes/${call.sandboxId}/proxy/${port}/`,
    })),
  }
}

const linkSchema = z.object({
  port: z.int().min(1).max(65_535),
  ttl_seconds: z.number().positive().max(LONGEST_LINK_SECONDS).nullish(),
  paths: z.array(z.string()).nullish(),
})

/** A link of Hearth's own: it ends with its time, with the key that made it, and with its sandbox. */
async function link(call: Call): Promise<Answer> {
  const { port, ttl_seconds, paths } = await call.body(linkSchema)
  if ((paths ?? []).length > 0) throw new HearthError('invalid_request', 'paths: a link opens the whole port here')
  const { services, caller, sandboxId: sandbox } = call
  await call.plane.get(caller, sandbox)
  const expiresAt = Date.now() + (ttl_seconds ?? DEFAULT_LINK_SECONDS) * 1000
  const target = { sandbox, port }
  const token = services.links.sign({ ...target, expiresAt, tenant: caller.tenantId, key: caller.keyId })
  const url = linkUrl(services, { target, token }, call.incoming)
  const expires_at = new Date(expiresAt).toISOString()
  return { status: 200, json: { url, token, sandbox_id: sandbox, port, paths: [], expires_at } }
}

/** `/v1/sandboxes/ID/proxy/PORT/...`: everything below is for the program that listens there. */
export async function forwardToPort(call: Call, port: number, path: string): Promise<void> {
  const { services, incoming, operation } = call
  await call.inside((sandbox) =>
    forwardRequest({ services, incoming, sandbox, port, path, mode: 'path', signal: operation.signal }, call.outgoing),
  )
}
