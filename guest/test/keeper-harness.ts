import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type Socket, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  DECODERS,
  ENCODERS,
  MESSAGE_TYPES,
  type MessageName,
  type Messages,
} from '../../packages/engine/src/link/messages.gen.ts'
import { HEADER_BYTES, PayloadReader, PayloadWriter } from '../../packages/engine/src/link/wire.ts'

/** The program under test; another build of it (with sanitizers) can be named. */
export const PROGRAM =
  process.env['HEARTH_GUEST'] ?? join(dirname(fileURLToPath(import.meta.url)), '../build/hearth-guest')

interface Frame {
  readonly type: number
  readonly channel: number
  readonly payload: Buffer
}

export function frame<Name extends MessageName>(name: Name, channel: number, message: Messages[Name]): Buffer {
  const writer = new PayloadWriter()
  ENCODERS[name](message, writer)
  return writer.finish(MESSAGE_TYPES[name], channel)
}

/** A Data frame, which a runtime like `cat` sends back as it is. */
export function data(channel: number, bytes: Uint8Array): Buffer {
  return frame('Data', channel, { bytes })
}

/** One end of a connection to a keeper, with the frames that came and have not been taken. */
export class Connection {
  readonly socket: Socket
  readonly #frames: Frame[] = []
  #pending: Buffer = Buffer.alloc(0)
  #wake: (() => void) | undefined
  closed = false

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk) => this.#receive(chunk))
    socket.on('close', () => {
      this.closed = true
      this.#wake?.()
    })
    // A keeper that ends while something is under way to it resets the connection; `closed` says so.
    socket.on('error', () => undefined)
  }

  #receive(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    let start = 0
    while (this.#pending.length - start >= HEADER_BYTES) {
      const end = start + HEADER_BYTES + this.#pending.readUInt32LE(start)
      if (end > this.#pending.length) break
      const payload = this.#pending.subarray(start + HEADER_BYTES, end)
      this.#frames.push({
        type: this.#pending.readUInt8(start + 4),
        channel: this.#pending.readUInt32LE(start + 8),
        payload,
      })
      start = end
    }
    this.#pending = this.#pending.subarray(start)
    this.#wake?.()
  }

  /** Bytes of a frame whose end has not come. */
  get unfinished(): number {
    return this.#pending.length
  }

  async #changed(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    await promise
  }

  async next(): Promise<Frame> {
    for (;;) {
      const next = this.#frames.shift()
      if (next) return next
      if (this.closed) throw new Error('the keeper closed the connection')
      await this.#changed()
    }
  }

  async end(): Promise<readonly Frame[]> {
    while (!this.closed) await this.#changed()
    return this.#frames.splice(0)
  }

  send(...frames: readonly Uint8Array[]): void {
    for (const bytes of frames) this.socket.write(bytes)
  }
}

type LaunchOptions = Partial<Messages['KeeperLaunch']> & { readonly cgroups?: readonly string[] }

/** A keeper with a directory of its own. */
export class TestKeeper {
  readonly directory: string
  readonly process: ChildProcess
  readonly connection: Connection
  readonly exited: Promise<number | null>

  constructor(identity?: number) {
    this.directory = mkdtempSync(join(tmpdir(), 'keeper-'))
    this.process = spawn(PROGRAM, ['keeper'], {
      detached: true,
      stdio: ['ignore', 'ignore', process.env['HEARTH_GUEST'] ? 'inherit' : 'ignore', 'pipe'],
      ...(identity === undefined ? {} : { uid: identity, gid: identity }),
    })
    this.exited = new Promise((resolve) => this.process.once('exit', (code) => resolve(code)))
    this.connection = new Connection(this.process.stdio[3] as Socket)
  }

  async request<Name extends 'KeeperPrepare' | 'KeeperLaunch' | 'KeeperClaim'>(
    name: Name,
    message: Messages[Name],
  ): Promise<bigint> {
    this.connection.send(frame(name, 7, message))
    const answer = await this.connection.next()
    if (answer.channel !== 7) throw new Error(`an answer on channel ${answer.channel}`)
    if (answer.type === MESSAGE_TYPES.Done) return DECODERS.Done(new PayloadReader(answer.payload)).value
    const failed = DECODERS.Failed(new PayloadReader(answer.payload))
    throw new Error(`${failed.errno} ${failed.what}`)
  }

  async launch({ cgroups = [], ...options }: LaunchOptions = {}): Promise<number> {
    await this.request('KeeperPrepare', { cgroups })
    const pid = await this.request('KeeperLaunch', {
      directory: this.directory,
      argv: ['/bin/cat'],
      environment: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin'],
      steps: [],
      writes: [],
      files: [],
      idBase: 0,
      idCount: 0,
      flags: 0,
      cleanup: [],
      ...options,
    })
    return Number(pid)
  }

  /** A shell command as the runtime. */
  async shell(command: string, options: LaunchOptions = {}): Promise<number> {
    return await this.launch({ argv: ['/bin/sh', '-c', command], ...options })
  }

  async connect(name: 'link.sock' | 'lane.sock' = 'link.sock'): Promise<Connection> {
    const socket = connect(join(this.directory, name))
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    return new Connection(socket)
  }

  read(name: string): string {
    return readFileSync(join(this.directory, name), 'utf8')
  }

  has(name: string): boolean {
    return existsSync(join(this.directory, name))
  }

  exitFile(): unknown {
    return JSON.parse(this.read('exit.json'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill('SIGTERM')
    await this.exited
    this.connection.socket.destroy()
    rmSync(this.directory, { recursive: true, force: true })
  }
}

export function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

export async function eventually(condition: () => boolean, milliseconds = 5000): Promise<void> {
  const deadline = Date.now() + milliseconds
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('it did not come about')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
