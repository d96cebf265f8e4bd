import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HearthError } from '@hearth/contract'
import type { SandboxUse } from '../control-plane.ts'
import { refuseSocket } from './failures.ts'
import type { Operation } from './operation.ts'
import type { Operations } from './operations.ts'
import type { Forwarding } from './previews/forward.ts'
import { forwardUpgrade } from './previews/forward-upgrade.ts'
import { onceGone } from './streams/event-stream.ts'

/** A request to become a WebSocket, as a listener gives it. */
export interface UpgradeRequest {
  readonly incoming: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
}

export interface Upgrade extends UpgradeRequest {
  readonly operation: Operation
  /** Told when the answer to the handshake is known. */
  readonly answered: (status: number) => void
}

interface Answering {
  readonly operations: Operations
  /** The status of a refusal, in the terms of the API that was called. */
  readonly statusOf: (failure: HearthError) => number
}

/** Never throws: what fails before the handshake is answered is refused, and what fails later ends the connection. */
export async function answerUpgrade(
  request: UpgradeRequest,
  { operations, statusOf }: Answering,
  work: (upgrade: Upgrade) => Promise<void>,
): Promise<void> {
  const { incoming, socket } = request
  let status = 0
  const operation = operations.beginUpgrade(incoming, socket, () => status)
  // A socket that breaks also closes, and that is what is listened for.
  socket.on('error', () => socket.destroy())
  const answered = (sent: number): void => {
    status = sent
  }
  try {
    await work({ ...request, operation, answered })
  } catch (error) {
    const failure = operation.failed(error)
    if (status !== 0) return void socket.destroy()
    status = statusOf(failure)
    refuseSocket(socket, failure, operation.requestId, status)
  }
}

/** To a program in a sandbox, which stays awake until the connection ends. */
export async function passOn(
  { incoming, socket, head, operation, answered }: Upgrade,
  use: SandboxUse,
  to: Omit<Forwarding, 'incoming' | 'sandbox' | 'signal'>,
): Promise<void> {
  operation.onEnd(() => use[Symbol.dispose]())
  operation.streams(() => socket.destroy())
  onceGone(operation, () => socket.destroy())
  const forwarding = { ...to, incoming, sandbox: use.sandbox, signal: operation.signal }
  answered(await forwardUpgrade(forwarding, socket, head))
}
