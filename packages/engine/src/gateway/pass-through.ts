import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { bulkBuffer, releaseBulkBuffer } from '../link/bulk-buffers.ts'
import { LeanSocket } from '../link/lean-socket.ts'
import { GuestStream } from './guest-stream.ts'

/** Is shown what a program says, before it is passed on. */
export type Watch = (bytes: Uint8Array) => void

/** Passes bytes both ways until both have ended. A side that breaks off takes the other one with it. */
export async function passThrough(stream: Duplex, socket: Socket, watch: Watch | null): Promise<void> {
  if (stream instanceof GuestStream && socket instanceof LeanSocket) {
    await Promise.all([passQuestions(stream, socket, watch), passAnswers(socket, stream)])
    return
  }
  if (watch !== null) stream.on('data', watch)
  await Promise.all([pipeline(stream, socket), pipeline(socket, stream)])
}

async function passQuestions(stream: GuestStream, socket: LeanSocket, watch: Watch | null): Promise<void> {
  stream.takeBy((bytes, done) => {
    watch?.(bytes)
    if (stream.destroyed) return
    const copy = bulkBuffer(bytes.length)
    copy.set(bytes)
    // Until they are with the kernel they count against the credit of the program, which bounds what waits here.
    socket.write(copy, (error) => {
      if (!error) releaseBulkBuffer(copy)
      done()
    })
  })
  await wholeOf(stream, socket)
  socket.end()
  await finished(socket, { readable: false })
}

async function passAnswers(socket: LeanSocket, stream: GuestStream): Promise<void> {
  await passBuffered(socket, stream)
  socket.takeBy((bytes) => stream.pass(bytes, () => socket.resume()))
  await wholeOf(socket, stream)
  stream.end()
  await finished(stream, { readable: false })
}

/** Up to the end of what one side says, unless one of them breaks off before. */
async function wholeOf(source: Duplex, sink: Duplex): Promise<void> {
  const gone = (): void => void source.destroy()
  sink.once('close', gone)
  try {
    if (sink.destroyed) gone()
    await finished(source, { writable: false })
  } catch (error) {
    sink.destroy()
    throw error
  } finally {
    sink.off('close', gone)
  }
}

/** What it has said before anybody listened. */
async function passBuffered(socket: LeanSocket, stream: GuestStream): Promise<void> {
  for (;;) {
    const chunk = socket.read() as Buffer | null
    if (chunk === null) return
    await new Promise<void>((resolve) => stream.write(chunk, () => resolve()))
  }
}
