import { resolve } from 'node:path'
import {
  BOUNDS,
  createFromSchema,
  DEFAULT_LIMITS,
  HearthError,
  parseInput,
  sandboxIdSchema,
  type CreateFrom,
  type ForkResult,
  type Limits,
  type Rung,
  type SandboxId,
  type SandboxInfo,
  type SandboxSpec,
  type SnapshotInfo,
} from '@hearth/contract'
import type { z } from 'zod'
import { Comparisons } from './diff/comparisons.ts'
import type { Capabilities, Probe } from './drivers/driver.ts'
import { DriverRegistry } from './drivers/registry.ts'
import { selectDriver } from './drivers/select-driver.ts'
import type { GatewayOptions } from './gateway/gateway-options.ts'
import { readHostFacts } from './host/facts.ts'
import { hostPaths, type HostPaths } from './host/host.ts'
import { isAlive } from './host/process-identity.ts'
import type { Captures } from './sandbox/captures.ts'
import { basisOf, definedOnly, describeFrom, type Basis } from './sandbox/create-from.ts'
import type { EmbeddedSandbox } from './sandbox/embedded-sandbox.ts'
import { forkSandbox } from './sandbox/forking.ts'
import { Launcher, type Prepared } from './sandbox/launcher.ts'
import { listRecords, readRecord, sandboxDirectory, writeRecord, type UnownedRecord } from './sandbox/sandbox-record.ts'
import { Snapshots } from './sandbox/snapshots.ts'
import { surveySandboxes, type Surveyed } from './sandbox/survey.ts'
import { removeSandbox, sweep, type SweepOptions } from './sandbox/sweep.ts'
import { typedFailure } from './sandbox/typed-failure.ts'
import { TemplateStore } from './templates/template-store.ts'
import type { Progress } from './templates/template.ts'

export interface HearthOptions extends GatewayOptions {
  /** All state. Default `HEARTH_HOME` or `~/.hearth`. */
  readonly home?: string
  /** Another guest binary than the built one. */
  readonly guest?: string
  /** Keepers held ready for the next creates. Default 2; 0 for a program that makes one sandbox. */
  readonly spareKeepers?: number
}

export interface CreateOptions {
  /** Default: a new one. It must never have been used before. */
  readonly id?: SandboxId
  readonly signal?: AbortSignal
  /** Told what takes long, for example a template that is built. */
  readonly progress?: Progress
}

/** What a create of a spec would get here. */
export interface Plan {
  readonly rung: Rung
  /** For example `crun 1.8.1`. */
  readonly driver: string
  readonly template: string
  readonly limits: Limits
  readonly capabilities: Capabilities
}

export interface RungReport {
  readonly rung: Rung
  readonly driver: string
  readonly probe: Probe
  /** True for the one that a create without demands gets. */
  readonly selected: boolean
}

/** Hearth inside this process: sandboxes without a server. */
export class Hearth implements AsyncDisposable {
  readonly paths: HostPaths
  readonly templates: TemplateStore
  readonly #options: HearthOptions
  readonly snapshots: Snapshots
  readonly #launcher: Launcher
  #registry: Promise<DriverRegistry> | null = null
  #disposed = false

  constructor(options: HearthOptions = {}) {
    const paths = hostPaths(options.home === undefined ? process.env : { ...process.env, HEARTH_HOME: options.home })
    this.paths = options.guest === undefined ? paths : { ...paths, guest: resolve(options.guest) }
    this.#options = options
    this.templates = new TemplateStore(this.paths)
    this.snapshots = new Snapshots(this.paths)
    this.#launcher = new Launcher(this.paths, {
      captures: {
        comparisons: new Comparisons(this, async () => (await this.#ready()).services.facts),
        snapshot: (...wanted) => this.#snapshot(...wanted),
        fork: (...fork) => this.#fork(...fork),
      },
      originReleased: (origin, sandbox) => this.snapshots.released(origin, sandbox),
    })
  }

  /** A sandbox of a template, or with `from` of a snapshot. */
  async create(spec: CreateFrom = {}, options: CreateOptions = {}): Promise<EmbeddedSandbox> {
    try {
      return await this.#launcher.launch(await this.#prepare(spec, options), options)
    } catch (error) {
      throw typedFailure(error, options.signal)
    }
  }

  async #prepare(spec: CreateFrom, options: CreateOptions): Promise<Prepared> {
    const wanted = parseInput(createFromSchema, spec, 'spec')
    const prepared = wanted.from === undefined ? await this.#fromTemplate(wanted, options) : await this.#from(wanted)
    options.signal?.throwIfAborted()
    return prepared
  }

  async #from(spec: z.output<typeof createFromSchema>): Promise<Prepared & { name: string }> {
    const snapshot = await this.snapshots.stored(spec.from ?? '')
    const described = describeFrom(snapshot, spec)
    const basis = await basisOf(await this.#ready(), this.templates, snapshot.manifest, null)
    return { ...described, ...basis, name: basis.template.name }
  }

  async #fromTemplate(spec: z.output<typeof createFromSchema>, options: CreateOptions): Promise<Prepared> {
    const { driver, probe, name, limits } = await this.#plan(spec)
    const template = await this.templates.resolve(name, options)
    return {
      driver,
      probe,
      template,
      from: null,
      parent: null,
      limits,
      configuration: {
        hostname: spec.hostname ?? null,
        environment: { ...template.environment, ...spec.env },
        workdir: spec.workdir ?? template.workdir ?? '/',
        user: spec.user ?? (probe.capabilities.users ? (template.user ?? '') : ''),
      },
      expiresAt: new Date(Date.now() + (spec.ttlMs ?? BOUNDS.defaultTtlMs)),
      metadata: spec.metadata ?? {},
    }
  }

  async #snapshot(...[sandbox, options]: Parameters<Captures['snapshot']>): Promise<SnapshotInfo> {
    try {
      return await this.snapshots.take(sandbox, options)
    } catch (error) {
      throw typedFailure(error, undefined)
    }
  }

  async #fork(...[parent, count, options]: Parameters<Captures['fork']>): Promise<ForkResult<EmbeddedSandbox>> {
    const registry = await this.#ready()
    const { snapshots, templates } = this
    const like = (record: UnownedRecord): Promise<Basis> => basisOf(registry, templates, record, record.driver)
    try {
      return await forkSandbox({ snapshots, launcher: this.#launcher, like }, parent, count, options)
    } catch (error) {
      throw typedFailure(error, options.signal)
    }
  }

  /** Says what a create would get, or why it would be refused, without making anything. */
  async plan(spec: CreateFrom = {}): Promise<Plan> {
    const wanted = parseInput(createFromSchema, spec, 'spec')
    const { driver, probe, name, limits } = await (wanted.from === undefined ? this.#plan(wanted) : this.#from(wanted))
    return { rung: driver.rung, driver: probe.label, template: name, limits, capabilities: probe.capabilities }
  }

  async #plan(spec: SandboxSpec): Promise<ReturnType<typeof selectDriver> & { name: string; limits: Limits }> {
    const { driver, probe } = await this.#select(await this.#ready(), spec)
    const name = spec.template ?? (probe.capabilities.hostTemplate ? 'host' : 'debian')
    return { driver, probe, name, limits: { ...DEFAULT_LIMITS, ...definedOnly(spec.limits ?? {}) } }
  }

  /**
   * Takes up a sandbox whose owner has gone: its processes run, their output is retained. It runs afterwards, also when it was
   * paused, unless it shall be paused.
   */
  async adopt(sandboxId: string, options: { readonly paused?: boolean } = {}): Promise<EmbeddedSandbox> {
    const id = parseInput(sandboxIdSchema, sandboxId, 'id')
    const directory = sandboxDirectory(this.paths.sandboxes, id)
    const record = await readRecord(directory)
    if (record === null) throw new HearthError('sandbox_not_found', `there is no sandbox ${id}`)
    if (isAlive(record.owner) && record.owner.pid !== process.pid) {
      throw new HearthError('too_many', `sandbox ${id} belongs to process ${record.owner.pid}, which is alive`)
    }
    const driver = (await this.#ready()).byName(record.driver)
    const paused = options.paused ?? false
    const machine = await driver.adopt(id, directory, paused)
    writeRecord(directory, record)
    return await this.#launcher.own(record, driver, machine, { paused })
  }

  /** The sandboxes of this home, whoever owns them. */
  async list(): Promise<SandboxInfo[]> {
    return (await listRecords(this.paths.sandboxes)).map((record) => record.info)
  }

  /** Every sandbox that has left something in this home, and whether it lives. */
  async survey(): Promise<Surveyed[]> {
    return await surveySandboxes(this.paths)
  }

  /** Ends a sandbox of this home and frees what the host holds for it, whatever a crash has left of it. Idempotent. */
  async discard(sandboxId: string): Promise<void> {
    const id = parseInput(sandboxIdSchema, sandboxId, 'id')
    const own = [...this.#launcher.live].find((sandbox) => sandbox.id === id)
    if (own !== undefined) await own.kill()
    const directory = sandboxDirectory(this.paths.sandboxes, id)
    // One that a crash has damaged is seen by the next sweep, and so is what it was made of.
    const origin = (await readRecord(directory).catch(() => null))?.info.origin ?? null
    await removeSandbox(id, directory, (await this.#ready()).services)
    if (origin !== null) await this.snapshots.released(origin, id)
  }

  /** Removes what crashes have left and no sandbox of this home uses: done once by itself, when this Hearth is first used. */
  async sweep(options: SweepOptions = {}): Promise<void> {
    await sweep(this.paths, (await this.#ready()).services, this.snapshots, options)
  }

  /** Removes a template, unless a sandbox of this home still runs on it. What snapshots lie on stays as long as they do. */
  async removeTemplate(name: string): Promise<void> {
    const user = (await this.list()).find((info) => info.template === name)
    if (user !== undefined) throw new HearthError('template_in_use', `sandbox ${user.id} runs on template ${name}`)
    await this.templates.remove(name, await this.snapshots.templateDigests())
  }

  /** What each driver says of this host. `fresh`: tried now, not remembered. */
  async rungs(options: { readonly fresh?: boolean } = {}): Promise<RungReport[]> {
    const registry = await this.#ready()
    const probed = await registry.probeAll(options)
    const demand = { rung: undefined, atLeast: undefined, hostTemplate: true }
    const chosen = probed.some(({ probe }) => probe.available) ? selectDriver(probed, demand).driver : null
    return probed.map(({ driver, probe }) => ({
      rung: driver.rung,
      driver: driver.name,
      probe,
      selected: driver === chosen,
    }))
  }

  async #select(registry: DriverRegistry, spec: SandboxSpec): Promise<ReturnType<typeof selectDriver>> {
    const demand = { rung: spec.rung, atLeast: spec.atLeast, hostTemplate: (spec.template ?? 'host') === 'host' }
    // A named rung need not wait for the others to be probed.
    const probed =
      spec.rung === undefined
        ? await registry.probeAll()
        : await Promise.all(
            registry.drivers
              .filter((driver) => driver.rung === spec.rung)
              .map(async (driver) => ({ driver, probe: await driver.probe() })),
          )
    return selectDriver(probed, demand)
  }

  async #ready(): Promise<DriverRegistry> {
    if (this.#disposed) throw new HearthError('internal', 'this Hearth has been disposed of')
    this.#registry ??= this.#open()
    return await this.#registry
  }

  async #open(): Promise<DriverRegistry> {
    const registry = new DriverRegistry(this.paths, await readHostFacts(), this.#options.spareKeepers ?? 2)
    await sweep(this.paths, registry.services, this.snapshots)
    return registry
  }

  /** Prepares what makes the next creates faster. */
  async warm(): Promise<void> {
    const { keepers, disks } = (await this.#ready()).services
    await Promise.all([keepers.fill(), disks.fill()])
  }

  /** Ends every sandbox that this Hearth made or adopted. */
  dispose(): Promise<void> {
    return this.#leave((sandbox) => sandbox.kill())
  }

  /** As `dispose`, but the sandboxes live on until their deadlines, for another process to adopt them. */
  release(): Promise<void> {
    return this.#leave((sandbox) => sandbox.release())
  }

  async #leave(leave: (sandbox: EmbeddedSandbox) => Promise<void>): Promise<void> {
    this.#disposed = true
    await Promise.all([...this.#launcher.live].map(leave))
    this.#launcher.live.clear()
    if (this.#registry !== null) await (await this.#registry).dispose()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose()
  }
}
