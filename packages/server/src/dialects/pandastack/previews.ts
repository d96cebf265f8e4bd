import type { IncomingMessage, ServerResponse } from 'node:http'
import { HearthError, type SandboxId } from '@hearth/contract'
import type { SandboxUse } from '../../control-plane.ts'
import type { Services } from '../../http/app-env.ts'
import { closeAfterAnswer } from '../../http/bodies/lingering-close.ts'
import type { Operation } from '../../http/operation.ts'
import type { Operations } from '../../http/operations.ts'
import { forwardRequest } from '../../http/previews/forward-request.ts'
import { parseHost, type PreviewTarget } from '../../http/previews/preview-host.ts'
import { answerUpgrade, passOn, type UpgradeRequest } from '../../http/upgrade.ts'
import type { SandboxRecord } from '../../state/index.ts'
import { pandastackStatus, refuse } from './failures.ts'
import { TEMPLATE_KEY } from './views.ts'

const SCOPES = new Set(['ports'] as const)

export interface SandboxRows {
  find(id: string): Promise<SandboxRecord | null>
}

/** `PORT-ID.ANYTHING`: clients make the host name themselves, of whatever they have as the host of previews. Null for every other name. */
export function previewOf({ headers }: IncomingMessage): PreviewTarget | null {
  const host = (headers.host ?? '').toLowerCase().replace(/:\d{1,5}$/, '')
  const dot = host.indexOf('.')
  const parsed = dot === -1 ? null : parseHost(host, host.slice(dot + 1))
  return parsed?.kind === 'preview' ? parsed.target : null
}

/** Ports of sandboxes that were made through this dialect, open to whoever knows the identifier, as they are at the vendor's. */
export class Previews {
  readonly #services: Services
  readonly #operations: Operations
  readonly #sandboxes: SandboxRows

  constructor(services: Services, operations: Operations, sandboxes: SandboxRows) {
    this.#services = services
    this.#operations = operations
    this.#sandboxes = sandboxes
  }

  async request(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    operation: Operation,
    target: PreviewTarget,
  ): Promise<void> {
    operation.name = 'pandastack.preview'
    try {
      using use = await this.#reach(target, operation)
      const { signal } = operation
      const { sandbox } = use
      const [services, path] = [this.#services, incoming.url ?? '/']
      await forwardRequest({ services, incoming, sandbox, port: target.port, path, mode: 'host', signal }, outgoing)
    } catch (error) {
      const failure = operation.failed(error)
      if (!outgoing.headersSent) closeAfterAnswer(incoming, outgoing)
      refuse(outgoing, failure)
    }
  }

  async upgrade(request: UpgradeRequest, { sandbox, port }: PreviewTarget): Promise<void> {
    const answering = { operations: this.#operations, statusOf: pandastackStatus }
    await answerUpgrade(request, answering, async (upgrade) => {
      upgrade.operation.name = 'pandastack.preview'
      const use = await this.#reach({ sandbox, port }, upgrade.operation)
      const path = upgrade.incoming.url ?? '/'
      await passOn(upgrade, use, { services: this.#services, port, path, mode: 'host' })
    })
  }

  async #reach({ sandbox }: PreviewTarget, operation: Operation): Promise<SandboxUse> {
    const row = await this.#sandboxes.find(sandbox)
    // Whether there is one that was made elsewhere is nobody's business.
    if (row === null || !(TEMPLATE_KEY in row.metadata)) {
      throw new HearthError('sandbox_not_found', 'there is no such sandbox')
    }
    const { tenantId } = row
    const { requestId } = operation
    const found = { tenantId, keyId: `pandastack preview ${sandbox}`, scopes: SCOPES, requestId, holder: null }
    const caller = this.#services.access.admit(found, operation)
    operation.sandboxId = sandbox as SandboxId
    return await this.#services.controlPlane.use(caller, sandbox as SandboxId)
  }
}
