import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { HearthError } from '@hearth/contract'
import type { Operation } from '../../http/operation.ts'
import type { Dialect, DialectContext, DialectListening } from '../dialect.ts'
import { AccessTokens } from './access/access-tokens.ts'
import { Builds } from './builds/build-routes.ts'
import { AutoPauses } from './control/auto-pauses.ts'
import { handleControlPlane } from './control/control-plane-api.ts'
import { Usage } from './control/usage.ts'
import type { E2b, SandboxRows } from './e2b.ts'
import { handleSandboxRequest, handleSandboxUpgrade } from './edge.ts'
import { StartedProcesses } from './envd/started-processes.ts'
import { Users } from './envd/users.ts'
import { Watchers } from './envd/watchers.ts'
import { e2bFailure, refuse } from './failures.ts'
import { Interpreters } from './interpreter/interpreters.ts'
import { targetOf, type Target } from './target.ts'

export interface E2bOptions {
  /** 0 for a free one. */
  readonly port: number
  /** The server starts without it when its port is taken. */
  readonly optional?: boolean
  /** Below which sandboxes have host names; with a port where it is not that of HTTPS. Default `localhost` and the port. */
  readonly domain?: string
}

/** E2B's API on a listener of its own. `secret` has 32 bytes or more; tokens of sandboxes die with it. */
export function e2bDialect(options: E2bOptions & { secret: Uint8Array; sandboxes: SandboxRows }): DialectListening {
  const { port, optional = false } = options
  return { name: 'e2b', port, optional, open: (context) => new E2bDialect(context, options) }
}

class E2bDialect implements Dialect {
  readonly #e2b: E2b
  readonly #domains: readonly string[]

  constructor(context: DialectContext, options: E2bOptions & { secret: Uint8Array; sandboxes: SandboxRows }) {
    const { services, operations, address } = context
    const { domain, secret, sandboxes } = options
    const users = new Users()
    this.#domains = [...(domain === undefined ? [] : [domain.toLowerCase().replace(/:\d+$/, '')]), 'localhost']
    this.#e2b = {
      services,
      operations,
      sandboxes,
      tokens: new AccessTokens(secret),
      pauses: new AutoPauses(services.controlPlane, services.logger),
      builds: new Builds(),
      interpreters: new Interpreters(),
      usage: new Usage(),
      started: new StartedProcesses(),
      users,
      watchers: new Watchers(users),
      domain: () => domain ?? `localhost:${address().port}`,
    }
    void this.#e2b.pauses.resume(sandboxes)
  }

  request(incoming: IncomingMessage, outgoing: ServerResponse, operation: Operation): void {
    const target = this.#target(incoming)
    if (HearthError.isInstance(target)) {
      refuse(incoming, outgoing, operation.failed(target), e2bFailure(target))
    } else if (target === null) void handleControlPlane(this.#e2b, incoming, outgoing, operation)
    else void handleSandboxRequest(this.#e2b, incoming, outgoing, operation, target)
  }

  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    const target = this.#target(incoming)
    void handleSandboxUpgrade(this.#e2b, incoming, socket, head, HearthError.isInstance(target) ? null : target)
  }

  async close(): Promise<void> {
    this.#e2b.pauses.close()
  }

  #target(incoming: IncomingMessage): Target | HearthError | null {
    try {
      return targetOf(incoming, this.#domains)
    } catch (error) {
      if (HearthError.isInstance(error)) return error
      throw error
    }
  }
}
