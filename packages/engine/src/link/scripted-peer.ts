// For tests: a guest that says whatever the test wants, true or not.
import { duplexPair, type Duplex } from 'node:stream'
import { decode } from './dispatch.ts'
import { FrameDecoder } from './frame-decoder.ts'
import { Link } from './link.ts'
import { ENCODERS, MESSAGE_TYPES, PROTOCOL_VERSION, type MessageName, type Messages } from './messages.gen.ts'
import { PayloadWriter } from './wire.ts'

/** One frame as bytes. */
export function frameOf<Name extends MessageName>(name: Name, message: Messages[Name], channel: number): Buffer {
  const writer = new PayloadWriter()
  ENCODERS[name](message, writer)
  return writer.finish(MESSAGE_TYPES[name], channel)
}

export interface Received {
  readonly type: number
  readonly channel: number
  readonly payload: Buffer
}

/** The guest's end of a link. Frames of the host are kept until the test asks for them. */
export class ScriptedPeer {
  readonly link: Link
  readonly #stream: Duplex
  readonly #received: Received[] = []
  #waiting: ((frame: Received) => void) | null = null

  constructor() {
    const [host, guest] = duplexPair()
    this.link = new Link(host)
    this.#stream = guest
    const decoder = new FrameDecoder((type, channel, payload) => {
      const frame = { type, channel, payload: Buffer.from(payload) }
      const waiting = this.#waiting
      this.#waiting = null
      if (waiting === null) this.#received.push(frame)
      else waiting(frame)
    })
    guest.on('data', (chunk: Buffer) => decoder.push(chunk))
    guest.on('error', () => {})
  }

  /** A peer whose session is established. */
  static async greeted(): Promise<ScriptedPeer> {
    const peer = new ScriptedPeer()
    const welcome = peer.link.hello({ timeoutMs: 1000 })
    await peer.welcome()
    await welcome
    return peer
  }

  /** The next frame of the host. */
  next(): Promise<Received> {
    const frame = this.#received.shift()
    if (frame !== undefined) return Promise.resolve(frame)
    return new Promise((resolve) => {
      this.#waiting = resolve
    })
  }

  /** The channel of the next frame, which must be this message. */
  async expect(name: MessageName): Promise<number> {
    const frame = await this.next()
    if (frame.type !== MESSAGE_TYPES[name]) throw new Error(`type ${frame.type} instead of ${name}`)
    return frame.channel
  }

  async welcome(version: number = PROTOCOL_VERSION): Promise<void> {
    const hello = decode('Hello', (await this.next()).payload)
    this.say('Welcome', { version, nonce: hello.nonce, bootNanoseconds: 1n, uid: 0, features: 0 }, 0)
  }

  say<Name extends MessageName>(name: Name, message: Messages[Name], channel: number): void {
    this.#stream.write(frameOf(name, message, channel))
  }

  raw(bytes: Uint8Array): boolean {
    return this.#stream.write(bytes)
  }

  hangUp(): void {
    this.#stream.end()
  }
}
