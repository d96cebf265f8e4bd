import { setTimeout as sleep } from 'node:timers/promises'
import { HearthError, type Port, type PortConnection } from '@hearth/contract'
import { z } from 'zod'
import type { Machine } from '../machine/machine.ts'

export const portSchema = z.int().min(1).max(65_535)

const RETRY_MS = 50

export class SandboxPort implements Port {
  readonly port: number
  readonly #machine: Machine

  constructor(port: number, machine: Machine) {
    this.port = port
    this.#machine = machine
  }

  async connect(options: { signal?: AbortSignal } = {}): Promise<PortConnection> {
    return await this.#machine.connect(this.port, options.signal)
  }

  async ready(options: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<void> {
    const timeoutMs = options.timeoutMs ?? 30_000
    const until = performance.now() + timeoutMs
    for (;;) {
      try {
        const connection = await this.connect(options)
        await connection.close()
        return
      } catch (error) {
        if (!HearthError.isInstance(error) || error.code !== 'port_refused') throw error
        if (performance.now() > until) {
          throw new HearthError('timeout', `nothing listens on port ${this.port} after ${timeoutMs} ms`, {
            cause: error,
          })
        }
      }
      await sleep(RETRY_MS)
      if (options.signal?.aborted === true) {
        throw new HearthError('aborted', `waiting for port ${this.port} was abandoned`, {
          cause: options.signal.reason,
        })
      }
    }
  }
}
