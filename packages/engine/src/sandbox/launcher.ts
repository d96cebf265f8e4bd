import { rm } from 'node:fs/promises'
import {
  HearthError,
  newSandboxId,
  type Limits,
  type SandboxId,
  type SandboxInfo,
  type SnapshotId,
  type VolumeMount,
} from '@hearth/contract'
import type { AttachedVolume, Driver, LaunchRequest, Probe } from '../drivers/driver.ts'
import type { NetworkUse } from '../gateway/budget.ts'
import type { GatewayOptions } from '../gateway/gateway-options.ts'
import type { HostPaths } from '../host/host.ts'
import { inBackground, type OnProblem } from '../host/in-background.ts'
import type { Machine } from '../machine/machine.ts'
import type { Pool } from '../pool/pool.ts'
import type { SnapshotManifest, StoredSnapshot } from '../store/snapshot-manifest.ts'
import type { Progress, Template } from '../templates/template.ts'
import type { Captures } from './captures.ts'
import type { CapturedInterpreters } from './code-contexts.ts'
import { restoredFrom, type Basis } from './create-from.ts'
import { EmbeddedSandbox } from './embedded-sandbox.ts'
import { readInterpreters, writeInterpreters } from './kept-interpreters.ts'
import { SandboxNetwork, type NetworkSpec } from './sandbox-network.ts'
import {
  disownRecord,
  makeSandboxDirectory,
  sandboxDirectory,
  snapshotsOf,
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
  readonly network: NetworkSpec
  /** What the sandbox that it is a copy of had used of its budgets. */
  readonly used?: NetworkUse
  readonly volumes: readonly VolumeMount[]
}

export interface LaunchOptions {
  /** Default: a new one. */
  readonly id?: SandboxId
  readonly signal?: AbortSignal
  readonly onProgress?: Progress
  /** Told when it has its files. */
  readonly diskMade?: () => void
}

/** What the launcher asks of its owner. */
export interface LauncherOwner {
  /** How the sandboxes are captured and copied. */
  readonly captures: Captures
  /** What the gateways of the sandboxes share. */
  readonly gateway: GatewayOptions
  /** Machines that wait for sandboxes. */
  readonly pool: Pool
  /** Gives a sandbox that is written down its volumes. */
  attachVolumes(info: SandboxInfo): Promise<AttachedVolume[]>
  /** A sandbox that needed this snapshot is gone. */
  snapshotReleased(snapshot: SnapshotId, sandbox: SandboxId): Promise<void>
  /** Told of what fails while nobody waits for it. */
  readonly onProblem: OnProblem
  /** One that sleeps shall never wake. */
  sleeperKilled(sandbox: SandboxId): Promise<void>
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
    const { driver, template, from } = prepared
    const record = recordOf(options.id ?? newSandboxId(), prepared)
    using _underWay = this.#owner.pool.enter()
    const network = await SandboxNetwork.create(record, this.#owner.gateway, prepared.used)
    const outfit = await network.outfit()
    const claimed = await this.#owner.pool.claim(prepared, record, outfit, options.signal)
    if (claimed !== null) {
      await keepNetwork(network, sandboxDirectory(this.#paths.sandboxes, record.info.id), claimed)
      return await this.own(record, driver, claimed, { network })
    }
    const directory = makeSandboxDirectory(this.#paths.sandboxes, record)
    try {
      await network.keepIn(directory)
      const volumes = await this.#attach(record)
      const machine = await driver.launch({ ...this.#request(record, template, from, options), ...outfit, volumes })
      return await this.own(record, driver, machine, { captured: from, network })
    } catch (error) {
      // A driver frees what it held; one that held nothing leaves the directory.
      const remove = (): Promise<void> => rm(directory, { recursive: true, force: true })
      await inBackground(`removing ${directory}`, remove, this.#owner.onProblem)
      throw error
    }
  }

  /** Gives a sandbox that sleeps a machine again. `answered` writes down that it is awake; until then its record stays as it is. */
  async relaunch(
    record: UnownedRecord,
    { driver, probe, template }: Basis,
    from: StoredSnapshot,
    options: { readonly signal?: AbortSignal; readonly answered: (record: UnownedRecord) => Promise<UnownedRecord> },
  ): Promise<EmbeddedSandbox> {
    using _underWay = this.#owner.pool.enter()
    const directory = sandboxDirectory(this.#paths.sandboxes, record.info.id)
    const network = await SandboxNetwork.again(record, this.#owner.gateway, directory)
    const request = this.#request(record, template, from, options)
    const volumes = await this.#attach(record)
    const machine = await driver.launch({ ...request, ...(await network.outfit()), volumes })
    const info = { ...record.info, state: 'running', driver: probe.label } as const
    const awake = await options.answered({ ...record, info }).catch(async (error: unknown) => {
      await inBackground(`ending the machine of ${record.info.id}`, () => machine.kill(), this.#owner.onProblem)
      throw error
    })
    return await this.own(awake, driver, machine, { captured: from, network })
  }

  async #attach({ info }: UnownedRecord): Promise<AttachedVolume[]> {
    return info.volumes.length === 0 ? [] : await this.#owner.attachVolumes(info)
  }

  #request(
    { info: { id, limits }, configuration }: UnownedRecord,
    template: Template,
    from: StoredSnapshot | null,
    { signal, onProgress: progress, diskMade }: Omit<LaunchOptions, 'id'>,
  ): Omit<LaunchRequest, 'volumes'> {
    const directory = sandboxDirectory(this.#paths.sandboxes, id)
    const tell = { ...(progress === undefined ? {} : { progress }), ...(diskMade === undefined ? {} : { diskMade }) }
    const abandon = signal === undefined ? {} : { signal }
    return { id, directory, template, from, limits, ...configuration, ...abandon, ...tell }
  }

  /** A machine becomes a sandbox of this process; without `network`, one that was told of another. */
  async own(
    record: UnownedRecord,
    driver: Driver,
    machine: Machine,
    options: {
      readonly paused?: boolean
      readonly captured?: StoredSnapshot | null
      readonly network?: SandboxNetwork
    } = {},
  ): Promise<EmbeddedSandbox> {
    const probe = await driver.probe()
    if (!probe.available) throw new HearthError('rung_unavailable', probe.reason)
    const directory = sandboxDirectory(this.#paths.sandboxes, record.info.id)
    const manifest = options.captured?.manifest
    const { onProblem } = this.#owner
    const network = options.network ?? (await SandboxNetwork.again(record, this.#owner.gateway, directory))
    const sandbox: EmbeddedSandbox = new EmbeddedSandbox({
      record,
      machine,
      capabilities: probe.capabilities,
      captures: this.#owner.captures,
      paused: options.paused ?? false,
      network,
      restored: restoredFrom(options.captured ?? null),
      interpreters: manifest === undefined ? readInterpreters(directory) : interpretersOf(manifest),
      owner: {
        changed: (changed) => writeRecord(directory, changed),
        interpreters: (found) => writeInterpreters(directory, found),
        ended: async () => {
          if (sandbox.info.state === 'hibernated') return await this.#owner.sleeperKilled(sandbox.id)
          await rm(directory, { recursive: true, force: true })
          await gone
        },
        released: () => {
          this.live.delete(sandbox)
          network.saveUse()
          disownRecord(directory, sandbox.record)
        },
        onProblem,
      },
    })
    this.live.add(sandbox)
    const gone = machine.ended.then(async () => {
      this.live.delete(sandbox)
      network.close()
      if (sandbox.info.state === 'hibernated') return network.saveUse()
      const others = [...this.live].flatMap((other) => snapshotsOf(other.record))
      for (const snapshot of snapshotsOf(record)) {
        if (!others.includes(snapshot)) await this.#owner.snapshotReleased(snapshot, sandbox.id)
      }
    })
    // What could not be removed now is seen by the next sweep; whoever kills the sandbox hears of it too.
    void inBackground(`removing what sandbox ${sandbox.id} was made from`, () => gone, onProblem)
    if (options.network === undefined) await network.adopted(machine, options.paused ?? false)
    return sandbox
  }
}

/** A machine of the pool without a place for its keys is of no use. */
async function keepNetwork(network: SandboxNetwork, directory: string, machine: Machine): Promise<void> {
  try {
    await network.keepIn(directory)
  } catch (error) {
    await machine.kill()
    throw error
  }
}

/** What is written down about a new sandbox. */
export function recordOf(id: SandboxId, prepared: Prepared): UnownedRecord {
  const { configuration, driver, template, network } = prepared
  return {
    info: infoOf(id, prepared),
    driver: driver.name,
    templateDigest: template.digest,
    hostTools: template.kind === 'host' ? template.tools : null,
    configuration: { ...configuration, hostname: configuration.hostname ?? id.replace('_', '-') },
    network,
    sleep: null,
    liesOn: null,
  }
}

function infoOf(id: SandboxId, prepared: Prepared): SandboxInfo {
  const { driver, probe, template, from, parent, limits, expiresAt, metadata, volumes } = prepared
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
    volumes,
  }
}

/** Without memory they have ended with their sandbox. */
function interpretersOf({ memory, interpreters, kind }: SnapshotManifest): CapturedInterpreters {
  return { captured: memory === null ? [] : interpreters, copied: kind !== 'hibernation' }
}
