import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { getRequestListener, RequestError } from '@hono/node-server'
import { HearthError } from '@hearth/contract'
import type { Services } from './app-env.ts'
import { createApp } from './app.ts'
import { asHearthError, failureHeaders, failureOf, statusOf } from './failures.ts'
import type { Speaker } from './listener.ts'
import type { Operation } from './operation.ts'
import type { Operations } from './operations.ts'
import { handleLinkPath, isLinkPath } from './previews/link-path.ts'
import { hostOf } from './previews/preview-host.ts'
import { handlePreview } from './previews/previews.ts'
import { fetchOf } from './requests.ts'
import { Upgrades } from './upgrades.ts'

/** Hearth's own API, and previews below the host names that it gives them. */
export class NativeSpeaker implements Speaker {
  readonly #services: Services
  readonly #listener: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>
  readonly #upgrades: Upgrades
  #beginning: Operation | null = null

  constructor(services: Services, operations: Operations) {
    this.#services = services
    const app = createApp(services, operations)
    this.#listener = getRequestListener(fetchOf(app), { errorHandler: (error) => this.#unreadable(error) })
    this.#upgrades = new Upgrades(services, operations)
  }

  request(incoming: IncomingMessage, outgoing: ServerResponse, operation: Operation): void {
    const host = hostOf(this.#services, incoming)
    if (host.kind === 'api' && isLinkPath(this.#services, incoming))
      void handleLinkPath(this.#services, incoming, outgoing, operation)
    else if (host.kind === 'api') this.#answer(incoming, outgoing, operation)
    else void handlePreview(this.#services, incoming, outgoing, operation, host.kind === 'preview' ? host.target : null)
  }

  /** What is unreadable is found out before the listener waits for anything: later this is another request's, or nobody's. */
  #answer(incoming: IncomingMessage, outgoing: ServerResponse, operation: Operation): void {
    this.#beginning = operation
    const answering = this.#listener(incoming, outgoing)
    this.#beginning = null
    void answering
  }

  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    void this.#upgrades.handle({ incoming, socket, head })
  }

  /** A request that is HTTP but has no URL that means anything. The adapter finds out before it has done anything else. */
  #unreadable(error: unknown): Response {
    const unclear = new HearthError('invalid_request', 'the host or the path of the request is malformed', {
      cause: error,
    })
    const failure = error instanceof RequestError ? unclear : asHearthError(error)
    this.#beginning?.failed(failure)
    const body = JSON.stringify({ error: failureOf(failure, this.#beginning?.requestId ?? '') })
    return new Response(body, { status: statusOf(failure), headers: failureHeaders(failure) })
  }
}
