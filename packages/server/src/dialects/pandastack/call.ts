import type { IncomingMessage, ServerResponse } from 'node:http'
import { HearthError, sandboxIdSchema, type Policy, type Sandbox, type SandboxId, type Scope } from '@hearth/contract'
import type { z } from 'zod'
import type { Caller } from '../../control-plane.ts'
import type { Services } from '../../http/app-env.ts'
import type { Operation } from '../../http/operation.ts'
import { clientSignal, unlessStopped, workGoesOn } from '../../http/outliving.ts'
import type { Builds } from '../builds/builds.ts'
import type { RootPreparation } from '../builds/root-preparation.ts'
import { readJson } from '../json-body.ts'
import type { CodeSessions } from './code-sessions.ts'

/** What all routes work with. */
export interface PandaStack {
  readonly services: Services
  readonly sessions: CodeSessions
  readonly builds: Builds
  readonly roots: RootPreparation
  /** What sandboxes may reach that name nothing; null for nothing. */
  readonly policy: Policy | null
}

interface Request {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly operation: Operation
  readonly caller: Caller
  readonly query: URLSearchParams
  readonly parameters: Readonly<Record<string, string>>
}

/** One call. */
export class Call {
  readonly services: Services
  readonly sessions: CodeSessions
  readonly builds: Builds
  readonly roots: RootPreparation
  readonly policy: Policy | null
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly operation: Operation
  readonly caller: Caller
  readonly #request: Request

  constructor({ services, sessions, builds, roots, policy }: PandaStack, request: Request) {
    this.services = services
    this.sessions = sessions
    this.builds = builds
    this.roots = roots
    this.policy = policy
    this.incoming = request.incoming
    this.outgoing = request.outgoing
    this.operation = request.operation
    this.caller = request.caller
    this.#request = request
  }

  get plane(): Services['controlPlane'] {
    return this.services.controlPlane
  }

  /** For calls that the vendor's clients do not send twice. */
  get keyed(): { readonly idempotencyKey: null; readonly signal: AbortSignal } {
    return { idempotencyKey: null, signal: this.operation.signal }
  }

  parameter(name: string): string {
    return this.#request.parameters[name] ?? ''
  }

  query(name: string): string | null {
    return this.#request.query.get(name)
  }

  get sandboxId(): SandboxId {
    const parsed = sandboxIdSchema.safeParse(this.parameter('id'))
    if (!parsed.success) throw new HearthError('sandbox_not_found', 'there is no such sandbox')
    this.operation.sandboxId = parsed.data
    return parsed.data
  }

  /** Runs inside the sandbox, which is woken and stays awake for as long. */
  async inside<T>(work: (sandbox: Sandbox) => Promise<T>): Promise<T> {
    using use = await this.plane.use(this.caller, this.sandboxId)
    return await work(use.sandbox)
  }

  /** Runs inside it what a client that goes away ends, and a server that stops does not: then only the client is let go. */
  async outliving<T>(work: (sandbox: Sandbox, signal: AbortSignal) => Promise<T>): Promise<T> {
    const signal = clientSignal(this.operation)
    return await this.inside((sandbox) => unlessStopped(this.operation, work(sandbox, signal), workGoesOn))
  }

  /** The JSON body, checked; one that is missing is an empty object, whatever its type says. */
  async body<Schema extends z.ZodType>(schema: Schema): Promise<z.output<Schema>> {
    return await readJson(this.incoming, this.services.limits, schema)
  }
}

/** Null: the route has answered by itself. */
export type Answer = { readonly status: number; readonly json?: unknown } | null

export interface Route {
  readonly method: string
  /** Below `/v1`, for example `/sandboxes/{id}`. */
  readonly path: string
  readonly name: string
  readonly scope: Scope
  readonly handle: (call: Call) => Promise<Answer>
}

/** A table of routes: `METHOD /path`, its scope, and what it does. */
export function routes(group: string, table: Readonly<Record<string, readonly [Scope, Route['handle']]>>): Route[] {
  return Object.entries(table).map(([place, [scope, handle]]) => {
    const [method = '', path = ''] = place.split(' ')
    return { method, path, name: `pandastack.${group}`, scope, handle }
  })
}
