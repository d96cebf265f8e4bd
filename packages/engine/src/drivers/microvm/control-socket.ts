import { open } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { HearthError } from '@hearth/contract'
import { z } from 'zod'

/** The name of QEMU's control socket in the directory of a sandbox. */
export const CONTROL_SOCKET = 'control.sock'
/** QEMU's answers to what is asked here are a few hundred bytes. */
const LONGEST_LINE = 64 * 1024
/** Messages that are no answer: events, of which a machine that does its work sends a handful. */
const MOST_EVENTS = 1000

const messageSchema = z.union([
  z.object({ QMP: z.unknown() }),
  z.object({ return: z.unknown(), id: z.number().optional() }),
  z.object({ error: z.object({ desc: z.string() }), id: z.number().optional() }),
  z.object({ event: z.string() }),
])
type ControlMessage = z.output<typeof messageSchema>

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/**
 * QEMU's control protocol. One command at a time.
 * SAFETY: QEMU is inside the boundary: a guest may have taken it over. What it says is bounded, and every answer has a deadline.
 */
export class ControlSocket implements Disposable {
  readonly #socket: Socket
  #text = ''
  #events = 0
  #waiting: Waiting | null = null
  #failure: Error | null = null

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => this.#received(chunk))
    socket.on('error', (error) => this.#fail(`the control socket of QEMU broke: ${error.message}`))
    socket.on('close', () => this.#fail('QEMU closed its control socket'))
  }

  /** Connects and waits until it takes commands. */
  static async open(directory: string, timeoutMs: number): Promise<ControlSocket> {
    // A unix socket's path holds 107 bytes, a home may be longer: the open directory is a short name for it.
    const handle = await open(directory)
    try {
      const socket = new ControlSocket(connect(`/proc/self/fd/${handle.fd}/${CONTROL_SOCKET}`))
      try {
        await socket.#answer('its greeting', timeoutMs)
        await socket.execute('qmp_capabilities', {}, timeoutMs)
        return socket
      } catch (error) {
        socket[Symbol.dispose]()
        throw error
      }
    } finally {
      await handle.close()
    }
  }

  async execute(command: string, parameters: Readonly<Record<string, unknown>>, timeoutMs: number): Promise<unknown> {
    const answer = this.#answer(command, timeoutMs)
    this.#socket.write(`${JSON.stringify({ execute: command, arguments: parameters })}\n`)
    return await answer
  }

  async #answer(what: string, timeoutMs: number): Promise<unknown> {
    if (this.#failure !== null) throw this.#failure
    if (this.#waiting !== null) throw new HearthError('internal', `${what} while QEMU owes another answer`)
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#waiting = { resolve, reject }
    const patience = new AbortController()
    const late = sleep(timeoutMs, undefined, { signal: patience.signal }).then(() =>
      this.#fail(`QEMU did not answer ${what} within ${timeoutMs} ms`),
    )
    try {
      return await promise
    } finally {
      patience.abort()
      await late.catch(() => undefined)
    }
  }

  #received(chunk: string): void {
    const lines = (this.#text + chunk).split('\n')
    this.#text = lines.pop() ?? ''
    if ([...lines, this.#text].some(({ length }) => length > LONGEST_LINE)) {
      return this.#fail('QEMU sent a message that is too long')
    }
    for (const line of lines) if (this.#failure === null) this.#message(line)
  }

  #message(line: string): void {
    const message = parse(line)
    if (message === null) return this.#fail('QEMU sent what is no message')
    if ('event' in message) {
      if (++this.#events > MOST_EVENTS) this.#fail('QEMU sends too many events')
      return
    }
    const waiting = this.#waiting
    if (waiting === null) return this.#fail('QEMU answered what nobody asked')
    this.#waiting = null
    if ('error' in message) waiting.reject(new HearthError('internal', `QEMU: ${message.error.desc.slice(0, 500)}`))
    else waiting.resolve('return' in message ? message.return : null)
  }

  #fail(reason: string): void {
    this.#failure ??= new HearthError('internal', reason)
    this.#socket.destroy()
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.reject(this.#failure)
  }

  [Symbol.dispose](): void {
    this.#fail('the control socket was closed')
  }
}

function parse(line: string): ControlMessage | null {
  try {
    const parsed = messageSchema.safeParse(JSON.parse(line))
    return parsed.success ? parsed.data : null
  } catch {
    // Not even JSON: the caller says so.
    return null
  }
}
