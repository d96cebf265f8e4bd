import type { IncomingMessage, ServerResponse } from 'node:http'
import { HearthError, type Sandbox, type SandboxId } from '@hearth/contract'
import type { Operation } from '../../http/operation.ts'
import type { Forwarding } from '../../http/previews/forward.ts'
import { forwardRequest } from '../../http/previews/forward-request.ts'
import { answerUpgrade, passOn, type UpgradeRequest } from '../../http/upgrade.ts'
import { trafficAccess } from './access/sandbox-access.ts'
import type { E2b } from './e2b.ts'
import { handleEnvd } from './envd/envd.ts'
import { reach } from './envd/reach.ts'
import { sendEmpty } from '../answers.ts'
import { e2bFailure, refuse } from './failures.ts'
import { toE2bId } from './ids.ts'
import { handleInterpreter } from './interpreter/interpreter-api.ts'
import { markOf } from './mark.ts'
import { ENVD_PORT, INTERPRETER_PORT, type Target } from './target.ts'

/** Clients in browsers call these from any page: what they prove themselves with is in headers, never in a cookie. */
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': '*, Authorization',
  'access-control-expose-headers': '*',
  'access-control-max-age': '7200',
}

/** Requests for sandboxes: envd and the code interpreter are answered here, other ports by the programs in the sandbox. */
export async function handleSandboxRequest(
  e2b: E2b,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  operation: Operation,
  target: Target,
): Promise<void> {
  try {
    const ours = target.port === ENVD_PORT || target.port === INTERPRETER_PORT
    if (ours) for (const [name, value] of Object.entries(CORS)) outgoing.setHeader(name, value)
    if (ours && incoming.method === 'OPTIONS') return sendEmpty(outgoing, 204)
    if (target.port === ENVD_PORT) return await handleEnvd(e2b, incoming, outgoing, operation, target)
    if (target.port === INTERPRETER_PORT) return await handleInterpreter(e2b, incoming, outgoing, operation, target)
    await forward(e2b, incoming, outgoing, operation, target)
  } catch (error) {
    const failure = operation.failed(error)
    refuse(incoming, outgoing, failure, edgeFailure(failure, target))
  }
}

async function forward(
  e2b: E2b,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  operation: Operation,
  target: Target,
): Promise<void> {
  operation.name = 'e2b.port.forward'
  const access = await trafficAccess(e2b, incoming, requireSandbox(target), operation)
  using use = await reach(e2b, access, operation)
  const { sandbox } = use
  const forwarding = { ...forwardingTo(e2b, incoming, sandbox, target.port), incoming, sandbox }
  await forwardRequest({ ...forwarding, signal: operation.signal }, outgoing)
}

/** To a program, as whoever made the sandbox has said that it expects its requests. */
function forwardingTo(
  { services }: E2b,
  incoming: IncomingMessage,
  sandbox: Sandbox,
  port: number,
): Omit<Forwarding, 'incoming' | 'sandbox' | 'signal'> {
  const mark = markOf(sandbox.info)
  const host = mark?.requestHost?.replaceAll('${PORT}', String(port)) ?? null
  const tls = mark?.httpsPorts?.includes(port) === true
  return { services, port, path: incoming.url ?? '/', mode: 'host', host, tls }
}

/** WebSockets to programs in the sandbox; nothing of E2B's own is one. */
export async function handleSandboxUpgrade(e2b: E2b, request: UpgradeRequest, target: Target | null): Promise<void> {
  const statusOf = (failure: HearthError): number => edgeFailure(failure, target).code
  await answerUpgrade(request, { operations: e2b.operations, statusOf }, async (upgrade) => {
    const { incoming, operation } = upgrade
    operation.name = 'e2b.port.forward'
    if (target === null || target.port === ENVD_PORT || target.port === INTERPRETER_PORT) {
      throw new HearthError('not_found', 'there is no WebSocket at this path')
    }
    const access = await trafficAccess(e2b, incoming, requireSandbox(target), operation)
    const use = await reach(e2b, access, operation)
    await passOn(upgrade, use, forwardingTo(e2b, incoming, use.sandbox, target.port))
  })
}

/** A sandbox that is not there or does not run is a bad gateway: clients ask `/health` and understand exactly that. */
export function edgeFailure(
  failure: HearthError,
  target: Target | null,
): { readonly code: number; readonly message: string } {
  const sandboxId = target === null || target.sandbox === null ? {} : { sandboxId: toE2bId(target.sandbox) }
  if (['sandbox_not_found', 'sandbox_ended', 'sandbox_paused', 'link_lost'].includes(failure.code)) {
    return { ...sandboxId, message: 'The sandbox was not found', code: 502 }
  }
  if (failure.code === 'port_refused') {
    const port = { port: target?.port }
    return { ...sandboxId, ...port, message: 'The sandbox is running but port is not open', code: 502 }
  }
  return { ...sandboxId, ...e2bFailure(failure) }
}

function requireSandbox({ sandbox }: Target): SandboxId {
  if (sandbox === null) throw new HearthError('invalid_request', 'the sandbox is not named')
  return sandbox
}
