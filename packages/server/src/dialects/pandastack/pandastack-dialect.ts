import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { HearthError, type Policy } from '@hearth/contract'
import { requireUndelegated } from '../../http/access/authenticator.ts'
import { bearerToken } from '../../http/access/key-cache.ts'
import { requireScope } from '../../http/access/scopes.ts'
import { closeAfterAnswer } from '../../http/bodies/lingering-close.ts'
import type { Operation } from '../../http/operation.ts'
import { sendEmpty, sendJson } from '../answers.ts'
import type { Builds } from '../builds/builds.ts'
import type { RootPreparation } from '../builds/root-preparation.ts'
import type { NoteRepository } from '../../state/index.ts'
import type { Dialect, DialectContext, DialectListening } from '../dialect.ts'
import { RouteTable, type Found } from '../route-table.ts'
import { ACCOUNT_ROUTES } from './account-routes.ts'
import { BUILD_ROUTES } from './builds/build-routes.ts'
import { Call, type PandaStack, type Route } from './call.ts'
import { CodeSessions } from './code-sessions.ts'
import { COMMAND_ROUTES } from './command-routes.ts'
import { COPY_ROUTES } from './copy-routes.ts'
import { refuse, unsupported } from './failures.ts'
import { FILE_ROUTES } from './file-routes.ts'
import { forwardToPort, PORT_ROUTES } from './port-routes.ts'
import { previewOf, Previews, type SandboxRows } from './previews.ts'
import { SANDBOX_ROUTES } from './sandbox-routes.ts'
import { TEMPLATE_ROUTES } from './templates.ts'
import { Terminals } from './terminals.ts'
import { VOLUME_ROUTES } from './volume-routes.ts'

/** What it takes of the server besides the services of all APIs. */
export interface PandaStackState {
  /** Of all dialects. */
  readonly builds: Builds
  readonly roots: RootPreparation
  /** What sandboxes may reach that name nothing; null for nothing. */
  readonly policy: Policy | null
  /** Rows of all tenants, for requests that name a sandbox but no key. */
  readonly sandboxes: SandboxRows
  readonly notes: NoteRepository
}

export interface PandaStackOptions {
  /** 0 for a free one. */
  readonly port: number
  /** The server starts without it when its port is taken. */
  readonly optional?: boolean
}

const ROUTES = new RouteTable(
  [
    ...SANDBOX_ROUTES,
    ...COMMAND_ROUTES,
    ...FILE_ROUTES,
    ...COPY_ROUTES,
    ...PORT_ROUTES,
    // Before templates by their names: no template is called `builds`.
    ...BUILD_ROUTES,
    ...TEMPLATE_ROUTES,
    ...VOLUME_ROUTES,
    ...ACCOUNT_ROUTES,
  ],
  '/v1',
)

const PROXY = /^\/v1\/sandboxes\/(?<id>[^/]{1,64})\/proxy\/(?<port>\d{1,5})(?<path>\/.*)?$/
/** What the vendor hosts besides sandboxes. */
const ELSEWHERE = /^\/v1\/(functions|schedules|databases|apps|preview-repos|repos|orgs|mcp)\b/

/** What the vendor has in each sandbox and this dialect has not. */
const INSIDE = /^\/v1\/sandboxes\/[^/]+\/(mcp|repl|events|ports|lsp)(\/|$)/

/** PandaStack's API on a listener of its own. */
export function pandastackDialect(
  { port, optional = false }: PandaStackOptions,
  state: PandaStackState,
): DialectListening {
  return { name: 'pandastack', port, optional, open: (context) => new PandaStackDialect(context, state) }
}

class PandaStackDialect implements Dialect {
  readonly #shared: PandaStack
  readonly #previews: Previews
  readonly #terminals: Terminals

  constructor({ services, operations }: DialectContext, { builds, roots, policy, sandboxes, notes }: PandaStackState) {
    this.#shared = { services, sessions: new CodeSessions(notes), builds, roots, policy }
    this.#terminals = new Terminals(services, operations)
    this.#previews = new Previews(services, operations, sandboxes)
  }

  request(incoming: IncomingMessage, outgoing: ServerResponse, operation: Operation): void {
    const target = previewOf(incoming)
    if (target === null) void this.#handle(incoming, outgoing, operation)
    else void this.#previews.request(incoming, outgoing, operation, target)
  }

  /** WebSockets to programs in sandboxes, and to a terminal in one. */
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    const target = previewOf(incoming)
    if (target === null) void this.#terminals.upgrade({ incoming, socket, head })
    else void this.#previews.upgrade({ incoming, socket, head }, target)
  }

  async close(): Promise<void> {
    // Nothing is held.
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse, operation: Operation): Promise<void> {
    operation.name = 'pandastack.unknown'
    try {
      const [path, query] = splitOnce(incoming.url ?? '/')
      if (path === '/healthz' || path === '/health') return sendEmpty(outgoing, 204)
      const { access } = this.#shared.services
      const caller = access.caller(
        requireUndelegated(await access.verify(bearerToken(incoming.headers.authorization ?? ''), incoming)),
        operation,
      )
      const proxied = PROXY.exec(path)?.groups
      const route = proxied === undefined ? find(incoming.method ?? 'GET', path) : null
      const parameters = route?.parameters ?? { id: proxied?.['id'] ?? '' }
      const call = new Call(this.#shared, {
        incoming,
        outgoing,
        operation,
        caller,
        query: new URLSearchParams(query),
        parameters,
      })
      operation.name = route?.route.name ?? 'pandastack.proxy'
      requireScope(caller.scopes, route?.route.scope ?? 'ports')
      if (route === null) {
        const target = `${proxied?.['path'] ?? '/'}${query === '' ? '' : `?${query}`}`
        return await forwardToPort(call, Number(proxied?.['port']), target)
      }
      const answer = await route.route.handle(call)
      if (answer === null) return
      if (answer.json === undefined) sendEmpty(outgoing, answer.status)
      else sendJson(outgoing, answer.status, answer.json)
    } catch (error) {
      const failure = operation.failed(error)
      if (!outgoing.headersSent) closeAfterAnswer(incoming, outgoing)
      refuse(outgoing, failure)
    }
  }
}

function splitOnce(url: string): [string, string] {
  const at = url.indexOf('?')
  return at === -1 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)]
}

function find(method: string, path: string): Found<Route> {
  const found = ROUTES.find(method, path)
  if (found !== null) return found
  const [, service] = ELSEWHERE.exec(path) ?? []
  if (service !== undefined) throw unsupported(service)
  const [, feature] = INSIDE.exec(path) ?? []
  if (feature !== undefined) throw unsupported(`${feature} of a sandbox`)
  throw new HearthError('not_found', 'there is nothing at this path')
}
