import { spawn, type ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { HearthError } from '@hearth/contract'

/** How long it waits for the next call before it is ended. */
const PATIENCE_MS = 1000

/** The guest program as `store serve`: one process that does short operations of the store one after the other. It keeps no program alive. */
export class StoreServer {
  static readonly #servers = new Map<string, StoreServer>()
  readonly #guest: string
  #child: ChildProcess | null = null
  #answer: ((text: string | null) => void) | null = null
  #received: Buffer = Buffer.alloc(0)
  #ending: NodeJS.Timeout | null = null

  private constructor(guest: string) {
    this.#guest = guest
  }

  static of(guest: string): StoreServer {
    const server = StoreServer.#servers.get(guest) ?? new StoreServer(guest)
    StoreServer.#servers.set(guest, server)
    return server
  }

  /** Whether a call would be done at once. */
  get idle(): boolean {
    return this.#answer === null
  }

  /** `0 RESULT` or `ERRNO TEXT`. One at a time. */
  async call(words: readonly string[]): Promise<string> {
    const child = this.#open()
    const request = Buffer.from(words.map((word) => `${word}\0`).join(''))
    const length = Buffer.alloc(4)
    length.writeUInt32LE(request.length)
    if (this.#ending !== null) clearTimeout(this.#ending)
    const { promise, resolve } = Promise.withResolvers<string | null>()
    this.#answer = resolve
    setAlive(child, true)
    child.stdin?.write(Buffer.concat([length, request]))
    const text = await promise
    this.#answer = null
    setAlive(child, false)
    this.#ending = setTimeout(() => this.#end(), PATIENCE_MS).unref()
    if (text === null) throw new HearthError('internal', `the process for the store ended during ${words[0]}`)
    return text
  }

  #open(): ChildProcess {
    if (this.#child !== null) return this.#child
    const child = spawn(this.#guest, ['store', 'serve'], { stdio: ['pipe', 'pipe', 'ignore'] })
    this.#child = child
    this.#received = Buffer.alloc(0)
    child.stdout?.on('data', (chunk: Buffer) => this.#receive(chunk))
    const ended = (): void => {
      if (this.#child !== child) return
      this.#child = null
      this.#answer?.(null)
    }
    // What cannot be written is noticed as its end.
    child.stdin?.on('error', () => undefined)
    child.once('error', ended).once('close', ended)
    return child
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk])
    if (this.#received.length < 4) return
    const end = 4 + this.#received.readUInt32LE(0)
    if (this.#received.length < end) return
    const text = this.#received.toString('utf8', 4, end)
    this.#received = this.#received.subarray(end)
    this.#answer?.(text)
  }

  /** It ends when its input does. */
  #end(): void {
    const child = this.#child
    this.#child = null
    child?.stdin?.end()
  }
}

/** Only a call that is under way keeps this program from ending. */
function setAlive(child: ChildProcess, alive: boolean): void {
  const handles = [child, child.stdin as Socket | null, child.stdout as Socket | null]
  for (const handle of handles) {
    if (alive) handle?.ref()
    else handle?.unref()
  }
}
