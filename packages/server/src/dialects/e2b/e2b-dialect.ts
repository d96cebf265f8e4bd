import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { HearthError, type Policy } from '@hearth/contract'
import type { Operation } from '../../http/operation.ts'
import type { NoteRepository, StoredEvent, WebhookRepository } from '../../state/index.ts'
import type { Dialect, DialectContext, DialectListening } from '../dialect.ts'
import { AccessTokens } from './access/access-tokens.ts'
import type { Builds } from '../builds/builds.ts'
import type { RootPreparation } from '../builds/root-preparation.ts'
import { BuildFiles } from './builds/build-files.ts'
import { AutoPauses } from './control/auto-pauses.ts'
import { handleControlPlane } from './control/control-plane-api.ts'
import { Usage } from './control/usage.ts'
import type { E2b, SandboxRows } from './e2b.ts'
import { handleSandboxRequest, handleSandboxUpgrade } from './edge.ts'
import { FileMetadata } from './envd/file-metadata.ts'
import { StartedProcesses } from './envd/started-processes.ts'
import { Users } from './envd/users.ts'
import { Watchers } from './envd/watchers.ts'
import { WebhookDelivery, type WebhookOptions } from './events/webhook-delivery.ts'
import { e2bFailure, refuse } from './failures.ts'
import { Interpreters } from './interpreter/interpreters.ts'
import { targetOf, type Target } from './target.ts'
import { VolumeReach } from './volumes/volume-files.ts'

export interface E2bOptions {
  /** 0 for a free one. */
  readonly port: number
  /** The server starts without it when its port is taken. */
  readonly optional?: boolean
  /** Below which sandboxes have host names; with a port where it is not that of HTTPS. Default `localhost` and the port. */
  readonly domain?: string
  readonly webhooks?: WebhookOptions
}

/** What it takes of the server besides the services of all APIs. */
export interface E2bState {
  /** 32 bytes or more; tokens of sandboxes die with it. */
  readonly secret: Uint8Array
  readonly sandboxes: SandboxRows
  readonly webhooks: WebhookRepository
  readonly notes: NoteRepository
  /** Of all dialects. */
  readonly builds: Builds
  readonly roots: RootPreparation
  /** What sandboxes may reach that name nothing; null for nothing. */
  readonly policy: Policy | null
  /** The directory for files of template builds. */
  readonly buildFiles: string
  /** Calls back with the events of each commit. */
  readonly onEvents: (listener: (events: readonly StoredEvent[]) => void) => void
}

/** E2B's API on a listener of its own. */
export function e2bDialect(options: E2bOptions, state: E2bState): DialectListening {
  const { port, optional = false } = options
  return { name: 'e2b', port, optional, open: (context) => new E2bDialect(context, options, state) }
}

const ENDS = new Set(['sandbox.stopped', 'sandbox.expired', 'sandbox.failed', 'sandbox.deleted'])

class E2bDialect implements Dialect {
  readonly #e2b: E2b
  readonly #domains: readonly string[]

  constructor(context: DialectContext, options: E2bOptions, state: E2bState) {
    const { services, operations, address } = context
    const { domain } = options
    const { secret, sandboxes, webhooks, notes } = state
    const delivering = { webhooks, sandboxes, events: services.events, logger: services.logger }
    const delivery = new WebhookDelivery(delivering, options.webhooks ?? {})
    const pauses = new AutoPauses({
      plane: services.controlPlane,
      logger: services.logger,
      sandboxes,
      events: services.events,
    })
    state.onEvents((events) => {
      delivery.take(events)
      pauses.take(events)
      this.#remember(events)
    })
    const users = new Users()
    const metadata = new FileMetadata(notes)
    this.#domains = [...(domain === undefined ? [] : [domain.toLowerCase().replace(/:\d+$/, '')]), 'localhost']
    this.#e2b = {
      services,
      operations,
      sandboxes,
      tokens: new AccessTokens(secret),
      pauses,
      policy: state.policy,
      builds: state.builds,
      roots: state.roots,
      buildFiles: new BuildFiles(state.buildFiles),
      interpreters: new Interpreters(notes),
      usage: new Usage(),
      started: new StartedProcesses(notes),
      users,
      metadata,
      notes,
      watchers: new Watchers({ users, metadata }),
      volumes: new VolumeReach(),
      webhooks,
      delivery,
      webhookNetworks: options.webhooks?.networks ?? [],
      domain: () => domain ?? `localhost:${address().port}`,
    }
    void pauses.resume()
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
    void handleSandboxUpgrade(this.#e2b, { incoming, socket, head }, HearthError.isInstance(target) ? null : target)
  }

  async close(): Promise<void> {
    this.#e2b.pauses.close()
    await this.#e2b.delivery.close()
  }

  /** What is known of a sandbox goes with it; what is known of its processes, with them. */
  #remember(events: readonly StoredEvent[]): void {
    const { interpreters, started, watchers, metadata } = this.#e2b
    for (const { type, sandboxId, data } of events) {
      if (sandboxId === null) continue
      if (type === 'sandbox.woken' && data['memory'] !== true) void this.#rebooted(sandboxId)
      if (ENDS.has(type)) for (const known of [interpreters, started, watchers, metadata]) known.forget(sandboxId)
    }
  }

  /** Its processes are gone, and numbers of new ones begin anew. */
  async #rebooted(id: string): Promise<void> {
    const { interpreters, started, services } = this.#e2b
    try {
      await Promise.all([interpreters.rebooted(id), started.rebooted(id)])
    } catch (err) {
      services.logger.warn({ event: 'e2b.notes', sandbox: id, err })
    }
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
