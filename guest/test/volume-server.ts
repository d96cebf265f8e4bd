import { spawn, type ChildProcess } from 'node:child_process'
import { chownSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PROGRAM } from './keeper-harness.ts'

/** Ids that nobody has. */
export const BASE = 0x3fff_0000 - 65_536
const HEADER = 40
const REPLY_HEADER = 16
const BRIDGE = fileURLToPath(new URL('volume-bridge.fixture.mjs', import.meta.url))

interface Request {
  readonly opcode: number
  readonly volume?: number
  readonly path?: string
  readonly other?: string
  readonly held?: number
  readonly hold?: number
  readonly uid?: number
  readonly part?: number
  readonly arguments?: Uint8Array
}

export interface Reply {
  readonly errno: number
  readonly body: Buffer
}

export function encode({
  opcode,
  volume = 0,
  path = '',
  other = '',
  held = 0,
  hold = 0,
  uid = 0,
  part = 0,
  ...rest
}: Request): Buffer {
  const parts = [Buffer.from(path), Buffer.from(other), Buffer.from(rest.arguments ?? [])]
  const header = Buffer.alloc(HEADER)
  header.writeUInt32LE(HEADER + parts.reduce((sum, part) => sum + part.length, 0), 0)
  header.writeUInt32LE(opcode, 4)
  header.writeBigUInt64LE(7n, 8)
  for (const [index, value] of [uid, uid, held, hold].entries()) header.writeUInt32LE(value, 16 + 4 * index)
  for (const [index, value] of [volume, parts[0]?.length ?? 0, parts[1]?.length ?? 0, part].entries())
    header.writeUInt16LE(value, 32 + 2 * index)
  return Buffer.concat([header, ...parts])
}

/** The server of two volumes, the second one for reading only, as a machine would speak to it. */
export class VolumeServer implements Disposable {
  readonly directory = mkdtempSync('/tmp/hearth-volumes-')
  readonly #child: ChildProcess
  readonly #replies: Reply[] = []
  #pending: Buffer = Buffer.alloc(0)
  #wake: (() => void) | null = null
  ended = false

  constructor(files: (volumes: string) => void) {
    const volumes = join(this.directory, 'volumes')
    for (const path of [volumes, join(volumes, '0'), join(volumes, '1')]) mkdirSync(path)
    files(volumes)
    for (const path of ['0', '1']) chownSync(join(volumes, path), BASE, BASE)
    writeFileSync(this.#held, new Uint8Array(4))
    chownSync(this.#held, BASE, BASE)
    chownSync(this.directory, BASE, BASE)
    const held = openSync(this.#held, 'r')
    const words = ['volumes', '9', '10', '8', String(BASE), volumes, 'rw', 'ro', '--', process.execPath, BRIDGE, '9']
    const ignored = ['ignore', 'ignore', 'ignore', 'ignore', 'ignore'] as const
    this.#child = spawn(PROGRAM, words, { stdio: ['pipe', 'pipe', 'inherit', ...ignored, held] })
    closeSync(held)
    this.#child.stdout?.on('data', (chunk: Buffer) => this.#take(chunk))
    this.#child.on('close', () => {
      this.ended = true
      this.#wake?.()
    })
    this.#child.stdin?.on('error', () => undefined)
  }

  get #held(): string {
    return join(this.directory, 'held')
  }

  heldFiles(): number {
    return readFileSync(this.#held).readUInt32LE(0)
  }

  /** Null: the server has ended. */
  async send(bytes: Uint8Array): Promise<Reply | null> {
    this.#child.stdin?.write(bytes)
    while (this.#replies.length === 0 && !this.ended)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    return this.#replies.shift() ?? null
  }

  async ask(request: Request): Promise<Reply> {
    const reply = await this.send(encode(request))
    if (reply === null) throw new Error('the server has ended')
    return reply
  }

  #take(chunk: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, chunk])
    while (this.#pending.length >= REPLY_HEADER && this.#pending.length >= this.#pending.readUInt32LE(0)) {
      const length = this.#pending.readUInt32LE(0)
      this.#replies.push({
        errno: Math.abs(this.#pending.readInt32LE(4)),
        body: this.#pending.subarray(REPLY_HEADER, length),
      })
      this.#pending = this.#pending.subarray(length)
    }
    this.#wake?.()
  }

  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL')
    rmSync(this.directory, { recursive: true, force: true })
  }
}
