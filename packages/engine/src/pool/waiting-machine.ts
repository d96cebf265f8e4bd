import { NO_NETWORK } from '../sandbox/sandbox-network.ts'
import { mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { newSandboxId } from '@hearth/contract'
import type { ClaimRequest, UnclaimedMachine } from '../drivers/driver.ts'
import type { HostPaths } from '../host/host.ts'
import type { Machine } from '../machine/machine.ts'
import { recordOf } from '../sandbox/launcher.ts'
import { makeSandboxDirectory, sandboxDirectory, writeRecord, type UnownedRecord } from '../sandbox/sandbox-record.ts'
import type { Shape } from './shape.ts'

/** The keeper of a machine whose engine has gone ends it at this time: at once, as long as nobody has claimed it. */
const PAST = new Date(0)
/** Where nothing counts it. */
const UNKNOWN_BYTES = 64 * 1024 ** 2

/** One machine of the pool: it runs, has told its guest what all of its shape have in common, and is nobody's. */
export class WaitingMachine {
  readonly ended: Promise<unknown>
  /** What it held of the host's memory when it was ready. */
  readonly memoryBytes: number
  readonly #paths: HostPaths
  readonly #directory: string
  readonly #unclaimed: UnclaimedMachine

  private constructor(paths: HostPaths, directory: string, unclaimed: UnclaimedMachine, memoryBytes: number) {
    this.#paths = paths
    this.#directory = directory
    this.#unclaimed = unclaimed
    this.memoryBytes = memoryBytes
    this.ended = unclaimed.machine.ended
  }

  static async start(paths: HostPaths, { prepared, launch }: Shape): Promise<WaitingMachine> {
    const { template, limits, probe } = prepared
    const user = probe.capabilities.users ? (template.user ?? '') : ''
    const configuration = { hostname: null, environment: template.environment, workdir: template.workdir ?? '/', user }
    const id = newSandboxId()
    const record = recordOf(id, { ...prepared, configuration, expiresAt: PAST, metadata: {}, network: NO_NETWORK })
    const directory = makeSandboxDirectory(paths.pool, record)
    try {
      const unclaimed = await launch({
        id,
        directory,
        template,
        from: null,
        volumes: [],
        limits,
        ...record.configuration,
      })
      return new WaitingMachine(paths, directory, unclaimed, (await unclaimed.memoryBytes()) ?? UNKNOWN_BYTES)
    } catch (error) {
      // A driver frees what it held; one that held nothing leaves the directory.
      await rm(directory, { recursive: true, force: true })
      throw error
    }
  }

  /** It becomes the machine of this sandbox. When that fails it is still to be ended. */
  async claim(record: UnownedRecord, request: ClaimRequest): Promise<Machine> {
    await this.#unclaimed.identify(request)
    const { sandboxes } = this.#paths
    mkdirSync(sandboxes, { recursive: true, mode: 0o700 })
    // Whoever comes after a crash between here and the last step finds it in the pool still, with both names.
    writeRecord(this.#directory, record)
    this.#unclaimed.moveTo(record.info.id, sandboxDirectory(sandboxes, record.info.id))
    return this.#unclaimed.machine
  }

  async end(): Promise<void> {
    await this.#unclaimed.machine.kill()
  }
}
