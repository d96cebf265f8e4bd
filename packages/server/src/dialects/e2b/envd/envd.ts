import type { IncomingMessage, ServerResponse } from 'node:http'
import { HearthError } from '@hearth/contract'
import type { Operation } from '../../../http/operation.ts'
import { signedAccess, tokenAccess, type SandboxAccess } from '../access/sandbox-access.ts'
import type { E2b } from '../e2b.ts'
import { sendEmpty, sendJson } from '../../answers.ts'
import { e2bFailure, refuse } from '../failures.ts'
import { RUNNING_STATES } from '../control/views.ts'
import type { Target } from '../target.ts'
import { begin, withUser, type EnvdCall, type UserlessCall } from './envd-call.ts'
import { composeFiles, readFile, writeFiles } from './file-endpoints.ts'
import { FILESYSTEM_SERVICE } from './filesystem-service.ts'
import { PROCESS_SERVICE } from './process-service.ts'
import { reach } from './reach.ts'
import { runRpc, type Rpc } from './rpc.ts'

const SERVICES: Readonly<Record<string, Readonly<Record<string, Rpc>>>> = {
  'process.Process': PROCESS_SERVICE,
  'filesystem.Filesystem': FILESYSTEM_SERVICE,
}

/** What a request to envd is for, found before anything else. */
interface Request {
  readonly path: string
  readonly query: URLSearchParams
}

/** envd as a client sees it: the server answers in its place. */
export async function handleEnvd(
  e2b: E2b,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  operation: Operation,
  target: Target,
): Promise<void> {
  operation.name = 'e2b.envd'
  const [path = '/', query = ''] = (incoming.url ?? '/').split('?', 2)
  const request = { path, query: new URLSearchParams(query) }
  if (path === '/health') return await health(e2b, outgoing, operation, target)
  const access = await accessOf(e2b, incoming, operation, target, request)
  using use = await reach(e2b, access, operation)
  const { sandbox } = use
  const parts = { e2b, incoming, outgoing, operation, caller: access.caller, sandbox }
  const [, service = '', method = ''] = /^\/([\w.]+)\/(\w+)$/.exec(path) ?? []
  const rpc = incoming.method === 'POST' ? SERVICES[service]?.[method] : undefined
  if (rpc !== undefined) {
    const name = `${service.split('.')[0] ?? ''}.${method.toLowerCase()}`
    return await runRpc(parts, name, rpc)
  }
  await endpoint(parts, request)
}

async function endpoint(parts: UserlessCall, { path, query }: Request): Promise<void> {
  const { incoming, outgoing, operation } = parts
  try {
    const call = await withUser(parts, query.get('username'))
    switch (`${incoming.method} ${path}`) {
      case 'GET /files':
      case 'HEAD /files':
        return await readFile(call, query)
      case 'POST /files':
        return await writeFiles(call, query)
      case 'POST /files/compose':
        return await composeFiles(call)
      case 'GET /metrics':
        return await metrics(call)
      case 'GET /envs':
        begin(call, 'envs', 'exec')
        return sendJson(outgoing, 200, {})
      default:
        throw new HearthError('not_found', 'there is nothing at this path')
    }
  } catch (error) {
    const failure = operation.failed(error)
    refuse(incoming, outgoing, failure, e2bFailure(failure))
  }
}

/** By token, or where links exist, by a signature of the link. */
async function accessOf(
  e2b: E2b,
  incoming: IncomingMessage,
  operation: Operation,
  target: Target,
  { path, query }: Request,
): Promise<SandboxAccess> {
  const signed = path === '/files' && incoming.headers['x-access-token'] === undefined
  if (!signed) return await tokenAccess(e2b, incoming, target, operation)
  const text = {
    path: query.get('path') ?? '',
    operation: incoming.method === 'POST' ? 'write' : 'read',
    user: query.get('username') ?? '',
    expiration: query.get('signature_expiration'),
  } as const
  return await signedAccess(e2b, incoming, target, { signature: query.get('signature'), text }, operation)
}

/** Tells anybody who knows the identifier whether it runs, as E2B does. */
async function health(e2b: E2b, outgoing: ServerResponse, operation: Operation, { sandbox }: Target): Promise<void> {
  operation.name = 'e2b.health'
  const row = sandbox === null ? null : await e2b.sandboxes.find(sandbox)
  if (row !== null && RUNNING_STATES.includes(row.state)) return sendEmpty(outgoing, 204)
  throw new HearthError('sandbox_not_found', 'The sandbox was not found')
}

async function metrics(call: EnvdCall): Promise<void> {
  begin(call, 'sandbox.metrics', 'sandbox:read')
  const usage = await call.e2b.usage.of(call.sandbox)
  sendJson(call.outgoing, 200, {
    ts: Math.floor(usage.at.getTime() / 1000),
    cpu_count: usage.cpuCount,
    cpu_used_pct: usage.cpuUsedPct,
    mem_total: usage.memTotal,
    mem_used: usage.memUsed,
    mem_cache: 0,
    mem_total_mib: Math.floor(usage.memTotal / 1024 ** 2),
    mem_used_mib: Math.floor(usage.memUsed / 1024 ** 2),
    disk_used: usage.diskUsed,
    disk_total: usage.diskTotal,
  })
}
