import { rm } from 'node:fs/promises'
import { HearthError, newSandboxId, type Limits, type SandboxId, type SandboxInfo } from '@hearth/contract'
import type { Driver, Probe } from '../drivers/driver.ts'
import type { HostPaths } from '../host/host.ts'
import type { Machine } from '../machine/machine.ts'
import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import type { Progress, Template } from '../templates/template.ts'
import type { Captures } from './captures.ts'
import { EmbeddedSandbox } from './embedded-sandbox.ts'
import {
  disownRecord,
  makeSandboxDirectory,
  sandboxDirectory,
  writeRecord,
  type SandboxConfiguration,
  type UnownedRecord,
} from './sandbox-record.ts'

/** Everything that is decided about a sandbox before it is made. */
export interface Prepared {
  readonly driver: Driver
  readonly probe: Extract<Probe, { available: true }>
  readonly template: Template
  readonly from: StoredSnapshot | null
  readonly parent: SandboxId | null
  readonly limits: Limits
  /** Without a hostname it is called as its identifier says. */
  readonly configuration: Omit<SandboxConfiguration, 'hostname'> & { readonly hostname: string | null }
  readonly expiresAt: Date
  readonly metadata: Readonly<Record<string, string>>
}

export interface LaunchOptions {
  /** Default: a new one. */
  readonly id?: SandboxId
  readonly signal?: AbortSignal
  readonly progress?: Progress
  /** Told when it has its files. */
  readonly diskMade?: () => void
}

/** What the launcher asks of its owner. */
export interface LauncherOwner {
  /** How the sandboxes are captured and copied. */
  readonly captures: Captures
  /** A sandbox that was made of this snapshot is gone. */
  originReleased(origin: StoredSnapshot['id'], sandbox: SandboxId): Promise<void>
}

/** Makes sandboxes of what was decided about them, and holds those that this process owns. */
export class Launcher {
  readonly live = new Set<EmbeddedSandbox>()
  readonly #paths: HostPaths
  readonly #owner: LauncherOwner

  constructor(paths: HostPaths, owner: LauncherOwner) {
    this.#paths = paths
    this.#owner = owner
  }

  async launch(prepared: Prepared, options: LaunchOptions = {}): Promise<EmbeddedSandbox> {
    const { driver, template, from, limits } = prepared
    const id = options.id ?? newSandboxId()
    const configuration = {
      ...prepared.configuration,
      hostname: prepared.configuration.hostname ?? id.replace('_', '-'),
    }
    const record = {
      info: infoOf(id, prepared),
      driver: driver.name,
      templateDigest: template.digest,
      configuration,
    }
    const directory = makeSandboxDirectory(this.#paths.sandboxes, record)
    const { signal, progress, diskMade } = options
    const abandon = signal === undefined ? {} : { signal }
    const tell = { ...(progress === undefined ? {} : { progress }), ...(diskMade === undefined ? {} : { diskMade }) }
    try {
      const request = { id, directory, template, from, limits, ...configuration, ...abandon, ...tell }
      return await this.own(record, driver, await driver.launch(request), { captured: from })
    } catch (error) {
      // A driver frees what it held; one that held nothing leaves the directory.
      await rm(directory, { recursive: true, force: true })
      throw error
    }
  }

  /** A machine becomes a sandbox of this process. */
  async own(
    record: UnownedRecord,
    driver: Driver,
    machine: Machine,
    options: { readonly paused?: boolean; readonly captured?: StoredSnapshot | null } = {},
  ): Promise<EmbeddedSandbox> {
    const probe = await driver.probe()
    if (!probe.available) throw new HearthError('rung_unavailable', probe.reason)
    const directory = sandboxDirectory(this.#paths.sandboxes, record.info.id)
    const manifest = options.captured?.manifest
    const sandbox: EmbeddedSandbox = new EmbeddedSandbox({
      record,
      machine,
      capabilities: probe.capabilities,
      captures: this.#owner.captures,
      paused: options.paused ?? false,
      // Without memory they have ended with their sandbox.
      interpreters: manifest === undefined || manifest.memory === null ? [] : manifest.interpreters,
      owner: {
        deadlineMoved: (info) => writeRecord(directory, { ...record, info }),
        ended: async () => {
          await rm(directory, { recursive: true, force: true })
          await gone
        },
        released: () => {
          this.live.delete(sandbox)
          disownRecord(directory, { ...record, info: sandbox.info })
        },
      },
    })
    this.live.add(sandbox)
    const gone = machine.ended.then(async () => {
      this.live.delete(sandbox)
      const { origin = null } = record.info
      const shared = [...this.live].some((other) => other.info.origin === origin)
      if (origin !== null && !shared) await this.#owner.originReleased(origin, sandbox.id)
    })
    // What could not be removed now is seen by the next sweep; whoever kills the sandbox hears of it too.
    gone.catch(() => undefined)
    return sandbox
  }
}

function infoOf(id: SandboxId, prepared: Prepared): SandboxInfo {
  const { driver, probe, template, from, parent, limits, expiresAt, metadata } = prepared
  return {
    id,
    state: 'running',
    rung: driver.rung,
    driver: probe.label,
    template: template.name,
    createdAt: new Date(),
    expiresAt,
    parent,
    origin: from?.id ?? null,
    metadata,
    limits,
  }
}
