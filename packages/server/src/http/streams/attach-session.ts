import {
  attachRequestSchema,
  HearthError,
  parseInput,
  type AttachEvent,
  type OutputChunk,
  type Process,
} from '@hearth/contract'
import type { FrameSocket } from './frame-socket.ts'

/** A process on a WebSocket, until either ends. The process waits for a client that is slow, and runs on without one that has gone. */
export async function attachSession(socket: FrameSocket, process: Process): Promise<void> {
  socket.onClose(() => void process.detach())
  const input = takeInput(socket, process).catch(async (error: unknown) => {
    if (!HearthError.isInstance(error)) throw error
    await socket.fail(error)
  })
  const send = (event: AttachEvent): Promise<void> => socket.sendEvent(event)
  try {
    await send({ type: 'attached', process: process.id, pid: process.pid })
    let last: OutputChunk | null = null
    for await (const chunk of process.output) {
      if (last === null || last.stream !== chunk.stream || last.offset + last.data.length !== chunk.offset) {
        await send({ type: 'position', stream: chunk.stream, offset: chunk.offset, dropped: chunk.dropped })
      }
      await socket.sendBytes(chunk.data)
      last = chunk
    }
    await send({ type: 'exit', exit: await process.wait() })
    socket.close()
  } finally {
    await process.detach()
    if (!socket.open) await input
  }
}

/** What a client sends before the process takes it is not read further: the client waits. */
async function takeInput(socket: FrameSocket, process: Process): Promise<void> {
  for await (const frame of socket.frames()) {
    if (frame.kind === 'bytes') await process.write(frame.bytes).catch(ignoreEnded)
    else await obey(process, frame.text)
  }
}

async function obey(process: Process, text: string): Promise<void> {
  const request = parseInput(attachRequestSchema, parseJson(text), 'frame')
  if (request.type === 'resize') await process.resize({ rows: request.rows, cols: request.cols }).catch(ignoreEnded)
  else if (request.type === 'signal') await process.signal(request.signal).catch(ignoreEnded)
  else await process.closeStdin().catch(ignoreEnded)
}

/** Keys that are pressed while a process ends go nowhere; its end is told by itself. */
function ignoreEnded(error: unknown): void {
  if (!HearthError.isInstance(error) || error.code !== 'process_not_found') throw error
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new HearthError('invalid_request', 'frame: not JSON', { cause })
  }
}
