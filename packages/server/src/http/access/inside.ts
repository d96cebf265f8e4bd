import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { SandboxId } from '@hearth/contract'

/**
 * Connections that sandboxes make to the server that they live in. Which sandbox speaks is known from the connection, which its gateway
 * made: nothing that is said in it counts for that.
 */
export class InsideConnections {
  readonly #sandboxes = new WeakMap<object, SandboxId>()
  #serve: ((connection: Duplex) => void) | null = null

  /** For the engine. Before the server serves, and after it has stopped, there is nobody to talk to. */
  readonly connect = (sandbox: SandboxId, connection: Duplex): void => {
    if (this.#serve === null) return void connection.destroy()
    this.#sandboxes.set(connection, sandbox)
    this.#serve(connection)
  }

  serve(serve: (connection: Duplex) => void): void {
    this.#serve = serve
  }

  /** Null for a request from outside. */
  sandboxOf({ socket }: IncomingMessage): SandboxId | null {
    return this.#sandboxes.get(socket) ?? null
  }
}
