import {
  HearthError,
  parseInput,
  portStreamRequestSchema,
  type PortConnection,
  type PortStreamEvent,
} from '@hearth/contract'
import { parseJson } from './attach-session.ts'
import type { FrameSocket } from './frame-socket.ts'

/** Bytes that may be on their way to a client that has not said that it took them. */
const WINDOW_BYTES = 1024 * 1024

/** A raw connection to a port on a WebSocket. Either side may end its half; a reset is an error. */
export async function portSession(socket: FrameSocket, connection: PortConnection): Promise<void> {
  const credit = new Credit(WINDOW_BYTES)
  const clientEnded = Promise.withResolvers<void>()
  socket.onClose(() => {
    credit.close()
    clientEnded.resolve()
    void connection.close()
  })
  const send = (event: PortStreamEvent): Promise<void> => socket.sendEvent(event)
  const frames = takeFrames(socket, connection, credit, () => clientEnded.resolve()).catch(async (error: unknown) => {
    await connection.close()
    if (!HearthError.isInstance(error)) throw error
    await socket.fail(error)
  })
  try {
    await send({ type: 'open' })
    for await (const chunk of connection.data) await sendWithin(socket, credit, chunk)
    if (socket.open) await send({ type: 'eof' })
    await clientEnded.promise
    socket.close()
  } finally {
    await connection.close()
    if (!socket.open) await frames
  }
}

async function sendWithin(socket: FrameSocket, credit: Credit, chunk: Uint8Array): Promise<void> {
  for (let start = 0; start < chunk.length;) {
    const room = await credit.room()
    const part = chunk.subarray(start, start + room)
    credit.use(part.length)
    await socket.sendBytes(part)
    start += part.length
  }
}

/** Until the socket closes: a client that has ended its half still gives credit. */
async function takeFrames(
  socket: FrameSocket,
  connection: PortConnection,
  credit: Credit,
  onEnd: () => void,
): Promise<void> {
  for await (const frame of socket.frames()) {
    if (frame.kind === 'bytes') {
      await connection.write(frame.bytes)
      continue
    }
    const request = parseInput(portStreamRequestSchema, parseJson(frame.text), 'frame')
    if (request.type === 'credit') credit.add(request.bytes)
    else {
      await connection.end()
      onEnd()
    }
  }
}

/** What may be sent before the client must have taken something. */
class Credit {
  #bytes: number
  #closed = false
  #wake: (() => void) | null = null

  constructor(bytes: number) {
    this.#bytes = bytes
  }

  add(bytes: number): void {
    this.#bytes = Math.min(WINDOW_BYTES, this.#bytes + bytes)
    this.#wake?.()
  }

  use(bytes: number): void {
    this.#bytes -= bytes
  }

  close(): void {
    this.#closed = true
    this.#wake?.()
  }

  async room(): Promise<number> {
    while (this.#bytes <= 0) {
      if (this.#closed) throw new HearthError('aborted', 'the client has gone')
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return this.#bytes
  }
}
