import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import {
  BOUNDS,
  DEFAULT_LIMITS,
  HearthError,
  newSandboxId,
  parseInput,
  sandboxIdSchema,
  sandboxSpecSchema,
  type Limits,
  type Rung,
  type SandboxId,
  type SandboxInfo,
  type SandboxSpec,
} from '@hearth/contract'
import type { Capabilities, Driver, Probe } from './drivers/driver.ts'
import { DriverRegistry } from './drivers/registry.ts'
import { selectDriver } from './drivers/select-driver.ts'
import { readHostFacts } from './host/facts.ts'
import { hostPaths, type HostPaths } from './host/host.ts'
import { isAlive } from './host/process-identity.ts'
import type { Machine } from './machine/machine.ts'
import { EmbeddedSandbox } from './sandbox/embedded-sandbox.ts'
import {
  disownRecord,
  listRecords,
  makeSandboxDirectory,
  readRecord,
  sandboxDirectory,
  writeRecord,
} from './sandbox/sandbox-record.ts'
import { surveySandboxes, type Surveyed } from './sandbox/survey.ts'
import { removeSandbox, sweep, type SweepOptions } from './sandbox/sweep.ts'
import { typedFailure } from './sandbox/typed-failure.ts'
import { TemplateStore } from './templates/template-store.ts'
import type { Progress } from './templates/template.ts'

export interface HearthOptions {
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
  readonly #live = new Set<EmbeddedSandbox>()
  #registry: Promise<DriverRegistry> | null = null
  #disposed = false

  constructor(options: HearthOptions = {}) {
    const paths = hostPaths(options.home === undefined ? process.env : { ...process.env, HEARTH_HOME: options.home })
    this.paths = options.guest === undefined ? paths : { ...paths, guest: resolve(options.guest) }
    this.#options = options
    this.templates = new TemplateStore(this.paths)
  }

  async create(spec: SandboxSpec = {}, options: CreateOptions = {}): Promise<EmbeddedSandbox> {
    try {
      return await this.#create(spec, options)
    } catch (error) {
      throw typedFailure(error, options.signal)
    }
  }

  async #create(spec: SandboxSpec, options: CreateOptions): Promise<EmbeddedSandbox> {
    const wanted = parseInput(sandboxSpecSchema, spec, 'spec')
    const { driver, probe, name, limits } = await this.#plan(wanted)
    const template = await this.templates.resolve(name, options)
    options.signal?.throwIfAborted()

    const id = options.id ?? newSandboxId()
    const now = Date.now()
    const info: SandboxInfo = {
      id,
      state: 'running',
      rung: driver.rung,
      driver: probe.label,
      template: template.name,
      createdAt: new Date(now),
      expiresAt: new Date(now + (wanted.ttlMs ?? BOUNDS.defaultTtlMs)),
      parent: null,
      metadata: wanted.metadata ?? {},
      limits,
    }
    const directory = makeSandboxDirectory(this.paths.sandboxes, info, driver.name)
    const machine = await driver.launch({
      id,
      directory,
      template,
      from: null,
      limits: info.limits,
      hostname: wanted.hostname ?? id.replace('_', '-'),
      environment: { ...template.environment, ...wanted.env },
      workdir: wanted.workdir ?? template.workdir ?? '/',
      user: wanted.user ?? (probe.capabilities.users ? (template.user ?? '') : ''),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      ...(options.progress === undefined ? {} : { progress: options.progress }),
    })
    return await this.#own(info, directory, driver, machine)
  }

  /** Says what a create would get, or why it would be refused, without making anything. */
  async plan(spec: SandboxSpec = {}): Promise<Plan> {
    const { driver, probe, name, limits } = await this.#plan(parseInput(sandboxSpecSchema, spec, 'spec'))
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
    writeRecord(directory, record.info, driver.name)
    return await this.#own(record.info, directory, driver, machine, paused)
  }

  async #own(
    info: SandboxInfo,
    directory: string,
    driver: Driver,
    machine: Machine,
    paused = false,
  ): Promise<EmbeddedSandbox> {
    const probe = await driver.probe()
    if (!probe.available) throw new HearthError('rung_unavailable', probe.reason)
    const owner = {
      deadlineMoved: (renewed: SandboxInfo) => writeRecord(directory, renewed, driver.name),
      ended: () => rm(directory, { recursive: true, force: true }),
      released: () => {
        this.#live.delete(sandbox)
        disownRecord(directory, sandbox.info, driver.name)
      },
    }
    const sandbox: EmbeddedSandbox = new EmbeddedSandbox(info, machine, probe.capabilities, owner, { paused })
    this.#live.add(sandbox)
    void machine.ended.then(() => this.#live.delete(sandbox))
    return sandbox
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
    const own = [...this.#live].find((sandbox) => sandbox.id === id)
    if (own !== undefined) await own.kill()
    await removeSandbox(id, sandboxDirectory(this.paths.sandboxes, id), (await this.#ready()).services)
  }

  /** Removes what crashes have left and no sandbox of this home uses: done once by itself, when this Hearth is first used. */
  async sweep(options: SweepOptions = {}): Promise<void> {
    await sweep(this.paths, (await this.#ready()).services, options)
  }

  /** Removes a template, unless a sandbox of this home still runs on it. */
  async removeTemplate(name: string): Promise<void> {
    const user = (await this.list()).find((info) => info.template === name)
    if (user !== undefined) throw new HearthError('template_in_use', `sandbox ${user.id} runs on template ${name}`)
    await this.templates.remove(name)
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
    await sweep(this.paths, registry.services)
    return registry
  }

  /** Prepares what makes the next creates faster. */
  async warm(): Promise<void> {
    await (await this.#ready()).services.keepers.fill()
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
    await Promise.all([...this.#live].map(leave))
    this.#live.clear()
    if (this.#registry !== null) await (await this.#registry).services.keepers.dispose()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose()
  }
}

function definedOnly<T extends object>(value: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as {
    [Key in keyof T]: Exclude<T[Key], undefined>
  }
}
