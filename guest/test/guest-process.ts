import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import {
  DECODERS,
  ENCODERS,
  GUEST_MESSAGES,
  MESSAGE_TYPES,
  PROTOCOL_VERSION,
  type MessageName,
  type Messages,
} from '../../packages/engine/src/link/messages.gen.ts'
import { HEADER_BYTES, PayloadReader, PayloadWriter } from '../../packages/engine/src/link/wire.ts'

const program =
  process.env['HEARTH_GUEST'] ?? fileURLToPath(new URL('../build/hearth-guest-sanitized', import.meta.url))

export type Message = {
  [Name in MessageName]: { readonly name: Name; readonly channel: number; readonly body: Messages[Name] }
}[MessageName]

/** Which messages end a channel, when they are not part of a listing. */
const FINAL = new Set<MessageName>(['Done', 'Failed', 'Exited', 'Close'])
const WINDOW = 262_144

/** What the guest said on one channel, in order; consumed with `next`. */
export class Conversation {
  readonly channel: number
  /** Grants credit as data arrives. Switch it off to hold the guest up. */
  generous = true
  readonly #guest: GuestProcess
  readonly #queue: Message[] = []
  #wake: (() => void) | undefined

  constructor(guest: GuestProcess, channel: number) {
    this.#guest = guest
    this.channel = channel
  }

  receive(message: Message): void {
    this.#queue.push(message)
    this.#wake?.()
    const bytes = message.name === 'Data' || message.name === 'Output' ? message.body.bytes.length : 0
    if (this.generous && bytes > 0) this.send('Credit', { bytes })
  }

  send<Name extends MessageName>(name: Name, body: Messages[Name]): void {
    this.#guest.send(name, this.channel, body)
  }

  async next(timeoutMs = 10_000): Promise<Message> {
    const deadline = Date.now() + timeoutMs
    while (this.#queue.length === 0) {
      const left = deadline - Date.now()
      if (left <= 0) throw new Error(`nothing came on channel ${this.channel}; guest: ${this.#guest.diagnostics()}`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    return present(this.#queue.shift())
  }

  async expect<Name extends MessageName>(name: Name, timeoutMs?: number): Promise<Messages[Name]> {
    const message = await this.next(timeoutMs)
    if (message.name !== name) throw new Error(`expected ${name}, got ${message.name} ${text(message.body)}`)
    return message.body as Messages[Name]
  }

  /** Everything up to the final message. */
  async all(timeoutMs?: number): Promise<readonly Message[]> {
    const messages: Message[] = []
    for (;;) {
      const message = await this.next(timeoutMs)
      messages.push(message)
      if (FINAL.has(message.name)) return messages
    }
  }

  get waiting(): number {
    return this.#queue.length
  }
}

/** The value, which the test takes to be there. */
export function present<Value>(value: Value | null | undefined): Value {
  if (value === undefined || value === null) throw new Error('a value is missing')
  return value
}

function text(body: unknown): string {
  return JSON.stringify(body, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))
}

/** A guest as a plain process of this machine, spoken to frame by frame. */
export class GuestProcess {
  readonly child: ChildProcess
  readonly #input: Writable
  readonly #conversations = new Map<number, Conversation>()
  readonly #nonce = randomBytes(16)
  readonly control: Conversation
  /** Told of channels that the guest opens, with their first message. */
  opened: ((conversation: Conversation, message: Message) => void) | null = null
  /** All that it has said. */
  receivedBytes = 0
  #received: Buffer = Buffer.alloc(0)
  #errors = ''
  #nextChannel = 1

  constructor(
    options: { readonly command?: readonly string[]; readonly environment?: Readonly<Record<string, string>> } = {},
  ) {
    const [file, ...rest] = [...(options.command ?? []), program]
    this.child = spawn(present(file), rest, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ASAN_OPTIONS: 'detect_leaks=1', ...options.environment },
    })
    this.#input = present(this.child.stdin)
    this.#input.on('error', (error) => (this.#errors += String(error)))
    const output: Readable = present(this.child.stdout)
    output.on('data', (bytes: Buffer) => this.#take(bytes))
    present(this.child.stderr).on('data', (bytes: Buffer) => (this.#errors += bytes.toString()))
    this.control = new Conversation(this, 0)
    this.#conversations.set(0, this.control)
  }

  static async start(options?: ConstructorParameters<typeof GuestProcess>[0]): Promise<GuestProcess> {
    const guest = new GuestProcess(options)
    await guest.hello()
    return guest
  }

  async hello(): Promise<Messages['Welcome']> {
    this.send('Hello', 0, { version: PROTOCOL_VERSION, nonce: this.#nonce })
    for (;;) {
      const message = await this.control.next()
      if (message.name === 'Welcome') return message.body
    }
  }

  send<Name extends MessageName>(name: Name, channel: number, body: Messages[Name]): void {
    const writer = new PayloadWriter()
    ENCODERS[name](body, writer)
    this.sendBytes(writer.finish(MESSAGE_TYPES[name], channel))
  }

  sendBytes(bytes: Uint8Array): void {
    this.#input.write(bytes)
  }

  request<Name extends MessageName>(name: Name, body: Messages[Name]): Conversation {
    const conversation = new Conversation(this, this.#nextChannel++)
    this.#conversations.set(conversation.channel, conversation)
    this.send(name, conversation.channel, body)
    return conversation
  }

  diagnostics(): string {
    return `exit ${this.child.exitCode} ${this.child.signalCode} ${this.#errors}`
  }

  #take(bytes: Buffer): void {
    this.receivedBytes += bytes.length
    this.#received = this.#received.length ? Buffer.concat([this.#received, bytes]) : bytes
    let at = 0
    while (this.#received.length - at >= HEADER_BYTES) {
      const length = this.#received.readUInt32LE(at)
      if (this.#received.length - at - HEADER_BYTES < length) break
      const name = GUEST_MESSAGES.get(this.#received.readUInt8(at + 4))
      if (name === undefined) throw new Error('unknown message')
      const channel = this.#received.readUInt32LE(at + 8)
      const reader = new PayloadReader(
        Buffer.from(this.#received.subarray(at + HEADER_BYTES, at + HEADER_BYTES + length)),
      )
      const body = DECODERS[name](reader)
      reader.finish()
      this.#receive({ name, channel, body } as Message)
      at += HEADER_BYTES + length
    }
    this.#received = this.#received.subarray(at)
  }

  #receive(message: Message): void {
    const known = this.#conversations.get(message.channel)
    if (message.name !== 'Lookup' && message.name !== 'Dial') {
      known?.receive(message)
      return
    }
    const conversation = new Conversation(this, message.channel)
    this.#conversations.set(message.channel, conversation)
    this.opened?.(conversation, message)
  }

  /** Ends the stream; the guest must end by itself, without a complaint of the sanitizers. */
  async end(): Promise<void> {
    const exited = this.child.exitCode === null && this.child.signalCode === null ? once(this.child, 'exit') : undefined
    this.#input.end()
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 20_000)
    await exited
    clearTimeout(timer)
    if (this.child.exitCode !== 0) throw new Error(`the guest ended badly: ${this.diagnostics()}`)
  }

  async exec(argv: readonly string[], options: Partial<Messages['Spawn']> = {}): Promise<ExecResult> {
    const conversation = this.request('Spawn', { ...SPAWN, argv, ...options })
    return collect(conversation)
  }
}

export const SPAWN: Messages['Spawn'] = {
  flags: 0,
  argv: [],
  environment: [],
  cwd: '/',
  user: '',
  timeoutMilliseconds: 0n,
  rows: 0,
  cols: 0,
  policy: '',
}
export const DEFAULT_MODE = 0xffffffff
export { WINDOW }

export interface ExecResult {
  readonly stdout: string
  readonly stderr: string
  readonly exited: Messages['Exited'] | undefined
  readonly failed: Messages['Failed'] | undefined
  readonly process: number
  readonly streams: readonly number[]
}

export async function collect(conversation: Conversation, timeoutMs = 20_000): Promise<ExecResult> {
  const out: Uint8Array[] = []
  const err: Uint8Array[] = []
  const streams: number[] = []
  let process = 0
  for (const message of await conversation.all(timeoutMs)) {
    if (message.name === 'Spawned') process = message.body.process
    if (message.name === 'Output') {
      streams.push(message.body.stream)
      ;(message.body.stream === 1 ? out : err).push(message.body.bytes)
    }
    const result = { stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString(), process, streams }
    if (message.name === 'Exited') return { ...result, exited: message.body, failed: undefined }
    if (message.name === 'Failed') return { ...result, exited: undefined, failed: message.body }
  }
  throw new Error('the channel was closed')
}
