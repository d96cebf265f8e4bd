import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { DialedSocket } from './dial/dialed-socket.ts'
import { GuestStream } from './guest-stream.ts'

/** Passes on what a server says, byte for byte, to its end. */
export async function passAnswers(socket: Socket, stream: Duplex): Promise<void> {
  if (!(socket instanceof DialedSocket) || !(stream instanceof GuestStream)) return await pipeline(socket, stream)
  await passBuffered(socket, stream)
  socket.takeBy((bytes) => stream.pass(bytes, () => socket.resume()))
  const gone = (): void => void socket.destroy()
  stream.once('close', gone)
  try {
    if (stream.destroyed) gone()
    await finished(socket, { writable: false })
  } finally {
    stream.off('close', gone)
  }
  stream.end()
  await finished(stream, { readable: false })
}

/** What it has said before anybody listened. */
async function passBuffered(socket: DialedSocket, stream: GuestStream): Promise<void> {
  for (;;) {
    const chunk = socket.read() as Buffer | null
    if (chunk === null) return
    await new Promise<void>((resolve) => stream.write(chunk, () => resolve()))
  }
}
