import type { IncomingMessage, ServerResponse } from 'node:http'
import { environmentSchema, guestPathSchema, HearthError, parseInput } from '@hearth/contract'
import { z } from 'zod'
import { requireScope } from '../../../http/access/scopes.ts'
import { readWhole } from '../../../http/bodies/read-body.ts'
import type { Operation } from '../../../http/operation.ts'
import { tokenAccess, trafficAccess, type SandboxAccess } from '../access/sandbox-access.ts'
import type { E2b } from '../e2b.ts'
import { PAUSED_STATES, RUNNING_STATES } from '../control/views.ts'
import { reach } from '../envd/reach.ts'
import { sendJson } from '../../answers.ts'
import { e2bStatus } from '../failures.ts'
import type { Target } from '../target.ts'
import { execute, type Execution } from './execute.ts'
import type { CodeContextView } from './interpreters.ts'

const contextSchema = z.object({ language: z.string().max(32).nullish(), cwd: guestPathSchema.nullish() })
const executeSchema = z.object({
  code: z.string().max(8 * 1024 * 1024),
  context_id: z.string().max(64).nullish(),
  language: z.string().max(32).nullish(),
  env_vars: environmentSchema.nullish(),
})

/** The protocol of E2B's code interpreter, over the interpreters that Hearth keeps in every sandbox. */
export async function handleInterpreter(
  e2b: E2b,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  operation: Operation,
  target: Target,
): Promise<void> {
  operation.name = 'e2b.code'
  const access = await accessOf(e2b, incoming, operation, target)
  using use = await reach(e2b, access, operation)
  try {
    await route({
      e2b,
      incoming,
      outgoing,
      operation,
      sandbox: use.sandbox,
      isAlive: () => isAlive(e2b, access.sandbox),
    })
  } catch (error) {
    const failure = operation.failed(error)
    if (outgoing.headersSent) return void outgoing.destroy()
    outgoing.writeHead(e2bStatus(failure), failure.message.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 200), {
      'content-type': 'text/plain; charset=utf-8',
    })
    outgoing.end(failure.message)
  }
}

/**
 * Clients send the token of the sandbox with code alone; contexts are open to whoever knows the identifier, unless traffic is private.
 * Code never is.
 */
async function accessOf(
  e2b: E2b,
  incoming: IncomingMessage,
  operation: Operation,
  target: Target,
): Promise<SandboxAccess> {
  const { sandbox } = target
  if (sandbox === null) throw new HearthError('invalid_request', 'the sandbox is not named')
  const path = pathOf(incoming)
  if (path !== '/execute' && incoming.headers['x-access-token'] === undefined) {
    return await trafficAccess(e2b, incoming, sandbox, operation)
  }
  const access = await tokenAccess(e2b, incoming, target, operation)
  requireScope(access.caller.scopes, 'exec')
  return access
}

interface Call extends Execution {
  readonly e2b: E2b
}

async function route(call: Call): Promise<void> {
  const { e2b, incoming, outgoing, sandbox } = call
  const [, id, action] = /^\/contexts\/([\w-]{1,64})(\/restart)?$/.exec(pathOf(incoming)) ?? []
  switch (`${incoming.method} ${id === undefined ? pathOf(incoming) : `/contexts/{id}${action ?? ''}`}`) {
    case 'GET /health':
      return void outgoing.writeHead(200, { 'content-type': 'text/plain' }).end('OK')
    case 'GET /contexts':
      return sendJson(outgoing, 200, (await e2b.interpreters.list(sandbox)).map(contextView))
    case 'POST /contexts': {
      const { language, cwd } = await body(call, contextSchema)
      const made = await e2b.interpreters.create(sandbox, language ?? 'python', cwd ?? null)
      return sendJson(outgoing, 200, contextView(made))
    }
    case 'POST /contexts/{id}/restart':
      await (await e2b.interpreters.get(sandbox, id ?? '')).end(sandbox)
      return sendJson(outgoing, 200, {})
    case 'DELETE /contexts/{id}':
      await e2b.interpreters.remove(sandbox, id ?? '')
      return sendJson(outgoing, 200, {})
    case 'POST /execute':
      return await run(call)
    default:
      throw new HearthError('not_found', 'there is nothing at this path')
  }
}

async function isAlive({ sandboxes }: E2b, id: string): Promise<boolean> {
  const row = await sandboxes.find(id)
  return row !== null && (RUNNING_STATES.includes(row.state) || PAUSED_STATES.includes(row.state))
}

async function run(call: Call): Promise<void> {
  const { code, context_id: id, language, env_vars: variables } = await body(call, executeSchema)
  if (id && language) {
    throw new HearthError('invalid_request', 'Only one of context_id or language can be provided')
  }
  const { interpreters } = call.e2b
  const named = id ? interpreters.get(call.sandbox, id) : interpreters.default(call.sandbox, language ?? 'python')
  const context = await named
  await execute(call, call.e2b.services.limits, context, code, variables ?? {})
}

async function body<Schema extends z.ZodType>({ e2b, incoming }: Call, schema: Schema): Promise<z.output<Schema>> {
  const { commandBytes, jsonBodyMs } = e2b.services.limits
  const bounds = { maximumBytes: commandBytes, idleMs: jsonBodyMs, totalMs: jsonBodyMs }
  const text = (await readWhole(incoming, bounds)).toString('utf8')
  try {
    return parseInput(schema, JSON.parse(text === '' ? '{}' : text), 'body')
  } catch (error) {
    if (HearthError.isInstance(error)) throw error
    throw new HearthError('invalid_request', 'the body is not JSON')
  }
}

function contextView({ id, language, cwd }: CodeContextView): CodeContextView {
  return { id, language, cwd }
}

function pathOf(incoming: IncomingMessage): string {
  return (incoming.url ?? '/').split('?', 1)[0] ?? '/'
}
