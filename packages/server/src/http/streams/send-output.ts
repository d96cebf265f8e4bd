import type { OutputEvent, Process } from '@hearth/contract'
import type { EventStream } from './event-stream.ts'

/** All output of a process and then how it ended. The process waits for the client: nothing is read ahead. */
export async function sendOutput(stream: EventStream, process: Process, until = Infinity): Promise<void> {
  const send = (event: OutputEvent, position?: number): Promise<void> => stream.send(event, position)
  await send({ type: 'started', process: process.id, pid: process.pid })
  for await (const { stream: name, data, offset, dropped } of process.output) {
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    const end = offset + bytes.length
    await send({ type: 'output', stream: name, offset, dropped, data: bytes.toString('base64') }, end)
    if (end >= until) return
  }
  await send({ type: 'exit', exit: await process.wait() })
}
