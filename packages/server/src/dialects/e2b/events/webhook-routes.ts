import { isIP } from 'node:net'
import { HearthError } from '@hearth/contract'
import { mayDial } from '@hearth/engine/dial'
import { z } from 'zod'
import type { Webhook } from '../../../state/index.ts'
import type { Answer, Call, Route } from '../control/call.ts'
import { requireTypes } from './event-routes.ts'

const urlSchema = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  .refine((text) => !/^https?:\/\/[^/?#]*@/i.test(text), 'must not hold a user or a password')

const webhookSchema = z.object({
  name: z.string().min(1).max(128),
  url: urlSchema,
  enabled: z.boolean().nullish(),
  events: z.array(z.string().max(64)).min(1).max(32),
  signatureSecret: z.string().min(1).max(512),
})

const write = 'sandbox:write' as const
const read = 'sandbox:read' as const

/** Addresses that are told what happens to the sandboxes of a tenant. */
export const WEBHOOK_ROUTES: readonly Route[] = [
  { method: 'POST', path: '/events/webhooks', name: 'e2b.webhook.create', scope: write, handle: create },
  { method: 'GET', path: '/events/webhooks', name: 'e2b.webhook.list', scope: read, handle: list },
  { method: 'GET', path: '/events/webhooks/{webhook}', name: 'e2b.webhook.get', scope: read, handle: get },
  { method: 'PATCH', path: '/events/webhooks/{webhook}', name: 'e2b.webhook.update', scope: write, handle: update },
  { method: 'DELETE', path: '/events/webhooks/{webhook}', name: 'e2b.webhook.delete', scope: write, handle: remove },
]

async function create(call: Call): Promise<Answer> {
  const { name, url, enabled, events, signatureSecret } = await call.body(webhookSchema)
  const { tenantId } = call.caller
  requireTypes(events, 'events')
  requireAddress(call, url)
  const given = { name, url, enabled: enabled ?? true, events, secret: signatureSecret }
  return { status: 201, json: view(await call.e2b.webhooks.create(tenantId, given)) }
}

async function list(call: Call): Promise<Answer> {
  return { status: 200, json: (await call.e2b.webhooks.list(call.caller.tenantId)).map(view) }
}

async function get(call: Call): Promise<Answer> {
  return { status: 200, json: view(await call.e2b.webhooks.get(call.caller.tenantId, call.parameter('webhook'))) }
}

/** What is not named stays as it is. */
async function update(call: Call): Promise<Answer> {
  const { name, url, enabled, events, signatureSecret } = await call.body(webhookSchema.partial())
  const { tenantId } = call.caller
  if (events !== undefined) requireTypes(events, 'events')
  if (url !== undefined) requireAddress(call, url)
  const changed = await call.e2b.webhooks.update(tenantId, call.parameter('webhook'), {
    ...(name === undefined ? {} : { name }),
    ...(url === undefined ? {} : { url }),
    ...(typeof enabled === 'boolean' ? { enabled } : {}),
    ...(events === undefined ? {} : { events }),
    ...(signatureSecret === undefined ? {} : { secret: signatureSecret }),
  })
  call.e2b.delivery.changed(tenantId)
  return { status: 200, json: view(changed) }
}

async function remove(call: Call): Promise<Answer> {
  await call.e2b.webhooks.remove(call.caller.tenantId, call.parameter('webhook'))
  return { status: 200, json: {} }
}

/** An address that will never be dialed is refused at once; where a name leads is looked at with each delivery. */
function requireAddress(call: Call, url: string): void {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) === 0 || mayDial(host, call.e2b.webhookNetworks)) return
  throw new HearthError('egress_refused', `url: ${host} is not a public address`, {
    suggestion: 'The operator of the server allows other networks with `hearth up --webhook-network 10.0.0.0/8`.',
  })
}

/** The secret is told nobody again. `lastError` is ours: why the last delivery failed. */
function view(webhook: Webhook): Record<string, unknown> {
  const { id, tenantId, name, url, events, enabled, createdAt, updatedAt, failure, deliveredAt } = webhook
  return {
    id,
    teamId: tenantId,
    teamID: tenantId,
    name,
    url,
    events,
    enabled,
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
    lastDeliveredAt: deliveredAt === null ? null : new Date(deliveredAt).toISOString(),
    lastError: failure,
  }
}
