import { randomBytes } from 'node:crypto'
import { refuse } from './refusal.ts'
import type { Filter } from './pump.ts'

const CONTINUATION = 0
const CLOSE = 8
const KNOWN = new Set([CONTINUATION, 1, 2, CLOSE, 9, 10])
const LONGEST_CONTROL = 125
const REASON_BYTES = 120
const NOTHING = Buffer.alloc(0)

/** What is done with the content: of each message, however it is split, and of what stands between. */
export interface WebSocketContent {
  message(): Filter
  control(payload: Buffer): Buffer
}

interface Frame {
  readonly opcode: number
  readonly final: boolean
  readonly mask: Buffer | null
  left: number
  passed: number
}

/**
 * Reads the frames of one direction and writes others with the same messages in them. A message is never held back for its end: it
 * goes on in as many frames as it came in parts.
 */
export class WebSocketFrames implements Filter {
  readonly #masked: boolean
  readonly #content: WebSocketContent
  #bytes: Buffer = NOTHING
  #frame: Frame | null = null
  #message: { readonly filter: Filter; opcode: number } | null = null

  constructor(masked: boolean, content: WebSocketContent) {
    this.#masked = masked
    this.#content = content
  }

  write(chunk: Buffer): Buffer {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    const out: Buffer[] = []
    for (let part = this.#next(); part !== null; part = this.#next()) out.push(part)
    return Buffer.concat(out)
  }

  end(): Buffer {
    return NOTHING
  }

  /** The next piece of output, or null when more must come in first. */
  #next(): Buffer | null {
    this.#frame ??= this.#readHead()
    const frame = this.#frame
    if (frame === null) return null
    if (frame.opcode >= CLOSE) return this.#control(frame)
    if (this.#bytes.length === 0 && frame.left > 0) return null
    const payload = this.#take(frame, Math.min(frame.left, this.#bytes.length))
    if (frame.left === 0) this.#frame = null
    return this.#data(frame, payload)
  }

  #data(frame: Frame, payload: Buffer): Buffer {
    const message = this.#message
    if (message === null) throw refuse('malformed', 'a part of a message without its beginning')
    const ends = frame.final && frame.left === 0
    const passed = message.filter.write(payload)
    const content = ends ? Buffer.concat([passed, message.filter.end()]) : passed
    if (ends) this.#message = null
    if (content.length === 0 && !ends) return NOTHING
    const written = this.#write(message.opcode, ends, content)
    message.opcode = CONTINUATION
    return written
  }

  #control(frame: Frame): Buffer | null {
    if (this.#bytes.length < frame.left) return null
    const payload = this.#take(frame, frame.left)
    this.#frame = null
    return this.#write(frame.opcode, true, this.#content.control(payload))
  }

  #readHead(): Frame | null {
    const bytes = this.#bytes
    const [first, second] = bytes
    if (first === undefined || second === undefined) return null
    const short = second & 0x7f
    const extra = short === 126 ? 2 : short === 127 ? 8 : 0
    const masked = (second & 0x80) !== 0
    const size = 2 + extra + (masked ? 4 : 0)
    if (bytes.length < size) return null
    const opcode = first & 0x0f
    const final = (first & 0x80) !== 0
    const left = extra === 0 ? short : extra === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
    const control = opcode >= CLOSE
    if ((first & 0x70) !== 0 || !KNOWN.has(opcode) || masked !== this.#masked || left > Number.MAX_SAFE_INTEGER) {
      throw refuse('malformed', 'this is not a frame of a WebSocket')
    }
    if (control && (!final || left > LONGEST_CONTROL)) throw refuse('malformed', 'a control frame is too long')
    if (!control && (opcode === CONTINUATION) !== (this.#message !== null)) {
      throw refuse('malformed', 'messages of a WebSocket are mixed up')
    }
    if (!control && this.#message === null) this.#message = { filter: this.#content.message(), opcode }
    const mask = masked ? Buffer.from(bytes.subarray(size - 4, size)) : null
    this.#bytes = bytes.subarray(size)
    return { opcode, final, mask, left, passed: 0 }
  }

  #take(frame: Frame, count: number): Buffer {
    const taken = this.#bytes.subarray(0, count)
    this.#bytes = this.#bytes.subarray(count)
    const payload = frame.mask === null ? taken : exclusiveOr(taken, frame.mask, frame.passed)
    frame.left -= count
    frame.passed += count
    return payload
  }

  #write(opcode: number, final: boolean, payload: Buffer): Buffer {
    return writeFrame(opcode, final, payload, this.#masked)
  }
}

function writeFrame(opcode: number, final: boolean, payload: Buffer, masked: boolean): Buffer {
  const short = payload.length < 126 ? payload.length : payload.length < 65_536 ? 126 : 127
  const extra = short === 126 ? 2 : short === 127 ? 8 : 0
  const head = Buffer.alloc(2 + extra)
  head[0] = (final ? 0x80 : 0) | opcode
  head[1] = (masked ? 0x80 : 0) | short
  if (extra === 2) head.writeUInt16BE(payload.length, 2)
  else if (extra === 8) head.writeBigUInt64BE(BigInt(payload.length), 2)
  if (!masked) return Buffer.concat([head, payload])
  const mask = randomBytes(4)
  return Buffer.concat([head, mask, exclusiveOr(payload, mask, 0)])
}

/** The last frame to a client, which says why. */
export function closeFrame(code: number, reason: string): Buffer {
  const payload = Buffer.alloc(2 + Math.min(REASON_BYTES, reason.length))
  payload.writeUInt16BE(code, 0)
  payload.write(reason.slice(0, REASON_BYTES), 2, 'latin1')
  return writeFrame(CLOSE, true, payload, false)
}

function exclusiveOr(bytes: Buffer, mask: Buffer, offset: number): Buffer {
  const result = Buffer.allocUnsafe(bytes.length)
  for (let at = 0; at < bytes.length; at++) result[at] = (bytes[at] as number) ^ (mask[(at + offset) & 3] as number)
  return result
}
