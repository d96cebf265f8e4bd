import { HearthError } from '@hearth/contract'
import type { Caller } from '../control-plane.ts'
import { requireScope } from './access/scopes.ts'
import { webSocketToken } from './access/web-socket-key.ts'
import type { Services } from './app-env.ts'
import { statusOf } from './failures.ts'
import type { Operations } from './operations.ts'
import { connectPort } from './previews/forward.ts'
import type { PreviewMode } from './previews/headers.ts'
import { isLinkPath, linkAccess } from './previews/link-path.ts'
import { parsePortPath } from './previews/port-path.ts'
import { previewAccess } from './previews/preview-access.ts'
import { hostOf, type PreviewTarget } from './previews/preview-host.ts'
import { useSandbox } from './sandbox-use.ts'
import { attachSession } from './streams/attach-session.ts'
import { onceGone } from './streams/event-stream.ts'
import { FrameSockets, type FrameSocket } from './streams/frame-socket.ts'
import { portSession } from './streams/port-session.ts'
import { answerUpgrade, passOn, type Upgrade, type UpgradeRequest } from './upgrade.ts'

const ATTACH = /^\/v1\/sandboxes\/([^/?]{1,64})\/processes\/(\d{1,10})\/attach(?:\?(.*))?$/
const PORT_STREAM = /^\/v1\/sandboxes\/([^/?]{1,64})\/ports\/(\d{1,5})\/stream(?:\?.*)?$/

/** Everything that asks to become a WebSocket. */
export class Upgrades {
  readonly #services: Services
  readonly #operations: Operations
  readonly #sockets: FrameSockets

  constructor(services: Services, operations: Operations) {
    this.#services = services
    this.#operations = operations
    this.#sockets = new FrameSockets(services.limits)
  }

  async handle(request: UpgradeRequest): Promise<void> {
    await answerUpgrade(request, { operations: this.#operations, statusOf }, (upgrade) => this.#route(upgrade))
  }

  async #route(upgrade: Upgrade): Promise<void> {
    const { incoming, operation } = upgrade
    const host = hostOf(this.#services, incoming)
    if (host.kind === 'unknown') throw new HearthError('not_found', 'this host name is no preview')
    if (host.kind === 'preview') return await this.#preview(upgrade, host.target)
    if (isLinkPath(this.#services, incoming)) return await this.#linked(upgrade)
    const caller = await this.#caller(upgrade)
    const url = incoming.url ?? ''
    const attach = ATTACH.exec(url)
    if (attach !== null) return await this.#attach(upgrade, caller, attach)
    const stream = PORT_STREAM.exec(url)
    if (stream !== null) return await this.#portStream(upgrade, caller, stream)
    const forward = parsePortPath(url)
    if (forward === null) throw new HearthError('not_found', 'there is no WebSocket at this path')
    operation.name = 'port.forward'
    requireScope(caller.scopes, 'ports')
    await this.#forward(upgrade, caller, forward, forward.path, 'path')
  }

  async #caller({ incoming, operation }: Upgrade): Promise<Caller> {
    const { access } = this.#services
    return access.caller(await access.verify(webSocketToken(incoming), incoming), operation)
  }

  async #attach(upgrade: Upgrade, caller: Caller, match: RegExpExecArray): Promise<void> {
    const [, id = '', process = '', query = ''] = match
    upgrade.operation.name = 'process.attach'
    requireScope(caller.scopes, 'exec')
    const offset = new URLSearchParams(query).get('offset') ?? '0'
    if (!/^\d{1,15}$/.test(offset)) throw new HearthError('invalid_request', 'query.offset: must be an integer')
    using use = await useSandbox(this.#services, caller, id)
    upgrade.operation.sandboxId = use.sandbox.id
    const attached = await use.sandbox.attach(Number(process), { offset: Number(offset) })
    try {
      await this.#session(upgrade, (socket) => attachSession(socket, attached))
    } finally {
      await attached.detach()
    }
  }

  async #portStream(upgrade: Upgrade, caller: Caller, match: RegExpExecArray): Promise<void> {
    const [, id = '', port = ''] = match
    upgrade.operation.name = 'port.stream'
    requireScope(caller.scopes, 'ports')
    using use = await useSandbox(this.#services, caller, id)
    upgrade.operation.sandboxId = use.sandbox.id
    const target = use.sandbox.port(Number(port))
    await this.#session(upgrade, async (socket) => {
      const { previewConnectMs } = this.#services.limits
      await portSession(socket, await connectPort(target, previewConnectMs, upgrade.operation.signal))
    })
  }

  /** From the handshake to the close. What fails after the handshake is told on the WebSocket. */
  async #session(upgrade: Upgrade, work: (socket: FrameSocket) => Promise<void>): Promise<void> {
    const { incoming, socket, head, operation } = upgrade
    const { metrics } = this.#services
    const frames = await this.#sockets.accept(incoming, socket, head, operation.requestId)
    upgrade.answered(101)
    metrics.streaming(operation.name, 1)
    operation.onEnd(() => metrics.streaming(operation.name, -1))
    operation.streams((reason) => void frames.fail(reason))
    // Asked to close it may take its time; the server does not.
    onceGone(operation, () => frames.terminate())
    try {
      await work(frames)
    } catch (error) {
      const failure = operation.failed(error)
      await frames.fail(failure)
    }
  }

  async #linked(upgrade: Upgrade): Promise<void> {
    const { incoming, operation } = upgrade
    const { caller, target, path } = await linkAccess(this.#services, incoming.url ?? '', operation)
    await this.#forward(upgrade, caller, target, path, 'link')
  }

  async #preview(upgrade: Upgrade, target: PreviewTarget): Promise<void> {
    upgrade.operation.name = 'preview.forward'
    const { caller, path } = await previewAccess(this.#services, upgrade.incoming, target, upgrade.operation)
    await this.#forward(upgrade, caller, target, path, 'host')
  }

  async #forward(
    upgrade: Upgrade,
    caller: Caller,
    target: PreviewTarget,
    path: string,
    mode: PreviewMode,
  ): Promise<void> {
    const services = this.#services
    const use = await useSandbox(services, caller, target.sandbox)
    upgrade.operation.sandboxId = use.sandbox.id
    await passOn(upgrade, use, { services, port: target.port, path, mode })
  }
}
