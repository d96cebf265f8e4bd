import { BOUNDS } from '@hearth/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decode } from './dispatch.ts'
import { FrameDecoder } from './frame-decoder.ts'
import { fieldsOf } from './message-arbitraries.ts'
import { ENCODERS, MESSAGE_TYPES, type MessageName, type Messages } from './messages.gen.ts'
import { HEADER_BYTES, PayloadWriter, WireError } from './wire.ts'

interface Frame {
  readonly type: number
  readonly channel: number
  readonly payload: Buffer
}

function collect(chunks: readonly Buffer[]): Frame[] {
  const frames: Frame[] = []
  // A payload is only good until the handler returns, unless it is stable.
  const decoder = new FrameDecoder((type, channel, payload, stable) =>
    frames.push({ type, channel, payload: stable ? payload : Buffer.from(payload) }),
  )
  for (const chunk of chunks) decoder.push(chunk)
  return frames
}

function encoded(frame: Frame): Buffer {
  const writer = new PayloadWriter()
  writer.rest(frame.payload)
  return Buffer.from(writer.finish(frame.type, frame.channel))
}

/** Cuts bytes at the given positions. */
function cut(bytes: Buffer, positions: readonly number[]): Buffer[] {
  const sorted = positions.map((position) => position % (bytes.length + 1)).toSorted((one, other) => one - other)
  const chunks: Buffer[] = []
  let start = 0
  for (const end of [...sorted, bytes.length]) {
    chunks.push(Buffer.from(bytes.subarray(start, end)))
    start = end
  }
  return chunks
}

const frames = fc.array(
  fc.record({
    type: fc.integer({ min: 0, max: 255 }),
    channel: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    payload: fc.oneof(
      fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
      fc.integer({ min: 0, max: BOUNDS.frameBytes }).map((length) => Buffer.alloc(length, length)),
    ),
  }),
  { maxLength: 6 },
)

describe('FrameDecoder', () => {
  test('gives the same frames wherever the stream is cut', () => {
    fc.assert(
      fc.property(frames, fc.array(fc.nat(), { maxLength: 12 }), (sent, positions) => {
        const received = collect(cut(Buffer.concat(sent.map(encoded)), positions))
        expect(received.length).toBe(sent.length)
        for (const [index, frame] of sent.entries()) {
          expect(received[index]?.type).toBe(frame.type)
          expect(received[index]?.channel).toBe(frame.channel)
          expect(received[index]?.payload.equals(frame.payload)).toBe(true)
        }
      }),
      { numRuns: 200 },
    )
  })

  test('gives the same frames one byte at a time', () => {
    const sent = [1, 0, 5, 300].map((length) => ({ type: 10, channel: length, payload: Buffer.alloc(length, 7) }))
    const bytes = Buffer.concat(sent.map(encoded))
    const received = collect(Array.from(bytes, (byte) => Buffer.from([byte])))
    expect(received.map((frame) => frame.payload.length)).toEqual([1, 0, 5, 300])
  })

  test('survives garbage: frames, or WireError, and nothing else', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 10 }), (chunks) => {
        try {
          for (const frame of collect(chunks.map((chunk) => Buffer.from(chunk))))
            expect(frame.payload.length).toBeLessThanOrEqual(BOUNDS.frameBytes)
        } catch (error) {
          expect(error).toBeInstanceOf(WireError)
        }
      }),
      { numRuns: 500 },
    )
  })

  test.each([
    ['a frame that is too long', 0, 0x01],
    ['reserved bytes that are not zero', 5, 0x80],
    ['the last reserved byte', 7, 0x01],
  ])('refuses %s, also in pieces', (_what, position, value) => {
    const bytes = encoded({ type: 10, channel: 1, payload: Buffer.alloc(3) })
    if (position === 0) bytes.writeUInt32LE(BOUNDS.frameBytes + value, 0)
    else bytes[position] = value
    expect(() => collect([bytes])).toThrow(WireError)
    expect(() => collect([bytes.subarray(0, 2), bytes.subarray(2, 11), bytes.subarray(11)])).toThrow(WireError)
  })

  test('a stopped decoder gives out nothing more', () => {
    let count = 0
    const decoder = new FrameDecoder(() => {
      count++
      decoder.stop()
    })
    const frame = encoded({ type: 10, channel: 1, payload: Buffer.alloc(3) })
    decoder.push(Buffer.concat([frame, frame, frame.subarray(0, 5)]))
    expect(count).toBe(1)
  })
})

/** Bytes as plain arrays, so that a Buffer equals a Uint8Array. */
function plain(message: object): unknown {
  return Object.fromEntries(
    Object.entries(message).map(([key, value]) => [key, value instanceof Uint8Array ? [...value] : (value as unknown)]),
  )
}

function encodeMessage<Name extends MessageName>(name: Name, message: Messages[Name]): Buffer {
  const writer = new PayloadWriter()
  ENCODERS[name](message, writer)
  return writer.finish(MESSAGE_TYPES[name], 1)
}

describe('messages', () => {
  const names = Object.keys(MESSAGE_TYPES) as MessageName[]
  /** Their last field is what remains of the payload, whatever its length. */
  const openEnded: readonly MessageName[] = ['Data', 'Output', 'ListChanges']

  test.each(names)('%s comes back as it was sent, and no shorter or longer', (name) => {
    fc.assert(
      fc.property(fieldsOf(name), (message) => {
        const payload = encodeMessage(name, message as Messages[typeof name]).subarray(HEADER_BYTES)
        expect(plain(decode(name, payload))).toEqual(plain(message))
        if (payload.length > 0 && !openEnded.includes(name)) {
          expect(() => decode(name, payload.subarray(0, -1))).toThrow(WireError)
          expect(() => decode(name, Buffer.concat([payload, Buffer.alloc(1)]))).toThrow(WireError)
        }
      }),
      { numRuns: 50 },
    )
  })

  test.each(names)('%s of garbage is a message or a WireError', (name) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
        try {
          decode(name, Buffer.from(bytes))
        } catch (error) {
          expect(error).toBeInstanceOf(WireError)
        }
      }),
      { numRuns: 100 },
    )
  })

  test('a message that does not fit a frame is not sent', () => {
    expect(() => encodeMessage('Symlink', { path: '/a', target: 'x'.repeat(BOUNDS.frameBytes) })).toThrow(WireError)
  })
})
