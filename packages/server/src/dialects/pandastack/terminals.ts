import type { IncomingMessage } from 'node:http'
import { HearthError, parseInput, sandboxIdSchema, type Process } from '@hearth/contract'
import { z } from 'zod'
import type { Caller } from '../../control-plane.ts'
import { requireUndelegated } from '../../http/access/authenticator.ts'
import { bearerToken } from '../../http/access/key-cache.ts'
import { requireScope } from '../../http/access/scopes.ts'
import type { Services } from '../../http/app-env.ts'
import type { Operation } from '../../http/operation.ts'
import type { Operations } from '../../http/operations.ts'
import { parseJson } from '../../http/streams/attach-session.ts'
import { onceGone } from '../../http/streams/event-stream.ts'
import { FrameSockets, type FrameSocket } from '../../http/streams/frame-socket.ts'
import { answerUpgrade, type Upgrade, type UpgradeRequest } from '../../http/upgrade.ts'
import { pandastackStatus, unsupported } from './failures.ts'

const TERMINAL = /^\/v1\/sandboxes\/([^/?]{1,64})\/(?:ssh|exec\/pty)(?:\?(.*))?$/
const SHELL = 'if command -v bash > /dev/null; then exec bash -l; else exec sh -l; fi'

const sizeSchema = z.object({ rows: z.int().min(1).max(1000), cols: z.int().min(1).max(1000) })
const requestSchema = z.object({ resize: sizeSchema.optional(), stdin: z.string().optional() })

/** A shell of a sandbox on a WebSocket, as the vendor's command line opens it. It ends with its client. */
export class Terminals {
  readonly #services: Services
  readonly #operations: Operations
  readonly #sockets: FrameSockets

  constructor(services: Services, operations: Operations) {
    this.#services = services
    this.#operations = operations
    this.#sockets = new FrameSockets(services.limits)
  }

  async upgrade(request: UpgradeRequest): Promise<void> {
    const answering = { operations: this.#operations, statusOf: pandastackStatus }
    await answerUpgrade(request, answering, (upgrade) => this.#open(upgrade))
  }

  async #open({ incoming, socket, head, operation, answered }: Upgrade): Promise<void> {
    operation.name = 'pandastack.terminal'
    const [, id = '', query = ''] = TERMINAL.exec(incoming.url ?? '') ?? []
    if (id === '') throw unsupported('this WebSocket')
    const parameters = new URLSearchParams(query)
    const caller = await this.#caller(incoming, parameters, operation)
    requireScope(caller.scopes, 'exec')
    const sandboxId = sandboxIdSchema.safeParse(id)
    if (!sandboxId.success) throw new HearthError('sandbox_not_found', 'there is no such sandbox')
    using use = await this.#services.controlPlane.use(caller, sandboxId.data)
    operation.sandboxId = sandboxId.data
    const pty = parseInput(sizeSchema, sizeOf(parameters), 'query')
    await using shell = await use.sandbox.spawn(['sh', '-c', SHELL], { pty, env: { TERM: 'xterm-256color' } })
    const frames = await this.#sockets.accept(incoming, socket, head, operation.requestId)
    answered(101)
    operation.streams((reason) => void told(frames, reason))
    onceGone(operation, () => frames.terminate())
    await session(frames, shell).catch((error: unknown) => told(frames, operation.failed(error)))
  }

  /** The key is in a header, or where a client cannot set one in the query. */
  async #caller(incoming: IncomingMessage, query: URLSearchParams, operation: Operation): Promise<Caller> {
    const { access } = this.#services
    const key = query.get('access_token') ?? bearerToken(incoming.headers.authorization ?? '')
    return access.caller(requireUndelegated(await access.verify(key, incoming)), operation)
  }
}

function sizeOf(query: URLSearchParams): object {
  return { rows: Number(query.get('rows') ?? 24), cols: Number(query.get('cols') ?? 80) }
}

async function session(frames: FrameSocket, shell: Process): Promise<void> {
  frames.onClose(() => void shell.kill().catch(ignoreEnded))
  const input = takeInput(frames, shell).catch(async (error: unknown) => {
    if (!HearthError.isInstance(error)) throw error
    await told(frames, error)
  })
  for await (const { data } of shell.output) await frames.sendBytes(data)
  const { exitCode, signal } = await shell.wait()
  await frames.sendEvent({ exit: signal === null ? (exitCode ?? -1) : 137 })
  frames.close()
  await input
}

async function takeInput(frames: FrameSocket, shell: Process): Promise<void> {
  for await (const frame of frames.frames()) {
    if (frame.kind === 'bytes') {
      await shell.write(frame.bytes).catch(ignoreEnded)
      continue
    }
    const { resize, stdin } = parseInput(requestSchema, parseJson(frame.text), 'frame')
    if (resize !== undefined) await shell.resize(resize).catch(ignoreEnded)
    if (stdin !== undefined) await shell.write(stdin).catch(ignoreEnded)
  }
}

/** Why there is no more, in the vendor's words. */
async function told(frames: FrameSocket, failure: HearthError): Promise<void> {
  if (frames.open) await frames.sendEvent({ error: failure.message }).catch(() => {})
  frames.close()
}

function ignoreEnded(error: unknown): void {
  if (!HearthError.isInstance(error)) throw error
}
