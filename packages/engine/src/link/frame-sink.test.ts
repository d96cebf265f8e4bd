import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { DATA_FRAME_BYTES } from './bulk-buffers.ts'
import { FrameDecoder } from './frame-decoder.ts'
import { FrameSink } from './frame-sink.ts'

const FRAMES = 200

it('uses a buffer again only when its frame is gone, however slowly it is read', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const [[reader], socket] = await Promise.all([
    once(server, 'connection') as Promise<[Socket]>,
    new Promise<Socket>((resolve) => {
      const made = connect((server.address() as AddressInfo).port, '127.0.0.1', () => resolve(made))
    }),
  ])
  const wrong: number[] = []
  let received = 0
  const decoder = new FrameDecoder((_type, channel, payload) => {
    received++
    if (payload.length !== sizeOf(channel) || !payload.every((byte) => byte === channel % 251)) wrong.push(channel)
  })
  const read = (async () => {
    for await (const chunk of reader) {
      decoder.push(chunk as Buffer)
      if (received % 20 === 0) await sleep(1)
    }
  })()
  const sink = new FrameSink(socket)
  // What its owner does with the bytes afterwards is nobody's concern.
  const bytes = Buffer.alloc(DATA_FRAME_BYTES)
  for (let channel = 1; channel <= FRAMES; channel++) {
    await sink.whenUncongested()
    sink.pushData(channel, bytes.subarray(0, sizeOf(channel)).fill(channel % 251))
    bytes.fill(0xff)
  }
  await sink.flushed()
  socket.end()
  await read
  server.close()
  expect({ received, wrong }).toEqual({ received: FRAMES, wrong: [] })
})

function sizeOf(channel: number): number {
  return channel % 3 === 0 ? 100 : DATA_FRAME_BYTES - (channel % 2)
}
