import { spawn } from 'node:child_process'
import { mkdir, open } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import { connectLink } from '../link/link-socket.ts'
import { Remembered } from './remembered.ts'

const START_TIMEOUT_MS = 10_000

/**
 * Gives new keepers by a connection each. Starting a program from here blocks for milliseconds, more as this process
 * grows; the nursery is one small process that forks them instead. It ends with this process, its keepers do not.
 */
export class KeeperNursery implements AsyncDisposable {
  readonly #guest: string
  readonly #directory: string
  readonly #name = `nursery-${process.pid}-${Math.random().toString(36).slice(2, 8)}.sock`
  readonly #started = new Remembered(() => this.#start())

  constructor(guest: string, home: string) {
    this.#guest = guest
    this.#directory = join(home, 'run')
  }

  async keeper(): Promise<Socket> {
    await this.#started.get()
    // A unix socket's path holds 107 bytes, a home may be longer: the open directory is a short name for it.
    const handle = await open(this.#directory)
    try {
      return await connected(connectLink(`/proc/self/fd/${handle.fd}/${this.#name}`))
    } finally {
      await handle.close()
    }
  }

  async #start(): Promise<Socket> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    // Keepers outlive us on purpose, so that none of our environment and descriptors goes to them.
    const child = spawn(this.#guest, ['nursery', this.#name], {
      cwd: this.#directory,
      detached: true,
      env: {},
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    })
    const owner = child.stdio[3] as Socket
    try {
      await new Promise<void>((resolve, reject) => {
        child.once('error', reject)
        child.once('exit', (code) => reject(new Error(`it ended with ${code}`)))
        owner.once('data', () => resolve())
        setTimeout(() => reject(new Error('it is not ready after 10 s')), START_TIMEOUT_MS).unref()
      })
    } catch (cause) {
      owner.destroy()
      child.kill('SIGKILL')
      const message = `the keepers' program ${this.#guest} does not start: ${(cause as Error).message}`
      throw new HearthError('launch_failed', message, { cause })
    }
    child.unref()
    owner.unref()
    owner.once('close', () => this.#started.forget())
    return owner
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const started = this.#started.known()
    this.#started.forget()
    ;(await started)?.destroy()
  }
}

function connected(socket: Socket): Promise<Socket> {
  return new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(socket))
    socket.once('error', (cause) => {
      reject(new HearthError('launch_failed', `no keeper could be had: ${cause.message}`, { cause }))
    })
  })
}
