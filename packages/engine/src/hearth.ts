import { resolve } from 'node:path'
import {
  HearthError,
  parseInput,
  sandboxIdSchema,
  type CreateFrom,
  type ForkResult,
  type SandboxInfo,
} from '@hearth/contract'
import { Comparisons } from './diff/comparisons.ts'
import { DriverRegistry } from './drivers/registry.ts'
import { reportRungs, type RungReport } from './drivers/rung-reports.ts'
import { DEFAULT_SPARE_KEEPERS, type CreateOptions, type HearthOptions } from './hearth-options.ts'
import { readHostFacts } from './host/facts.ts'
import { hostPaths, type HostPaths } from './host/host.ts'
import { attempt, inBackground, unheard, type OnProblem } from './host/in-background.ts'
import { isAlive } from './host/process-identity.ts'
import { poolSettings } from './pool/pool-options.ts'
import { Pool } from './pool/pool.ts'
import type { Captures } from './sandbox/captures.ts'
import type { Basis } from './sandbox/create-from.ts'
import type { EmbeddedSandbox } from './sandbox/embedded-sandbox.ts'
import { forkSandbox } from './sandbox/forking.ts'
import { Launcher } from './sandbox/launcher.ts'
import { Preparation, type Plan } from './sandbox/preparing.ts'
import { hibernated } from './sandbox/require-there.ts'
import {
  listRecords,
  readRecord,
  sandboxDirectory,
  sleeps,
  snapshotsOf,
  writeRecord,
  type UnownedRecord,
} from './sandbox/sandbox-record.ts'
import { Sleepers, type WakeOptions } from './sandbox/sleepers.ts'
import { Snapshots } from './sandbox/snapshots.ts'
import { surveySandboxes, type Surveyed } from './sandbox/survey.ts'
import { removeSandbox, sweep, type SweepOptions } from './sandbox/sweep.ts'
import { typedFailure } from './sandbox/typed-failure.ts'
import { isThere } from './sandbox/is-there.ts'
import type { PrivateImage, PrivatePull } from './templates/private-pulls.ts'
import { TemplateStore, type ResolveOptions } from './templates/template-store.ts'
import { Volumes } from './volumes/volumes.ts'
import { Remembered } from './host/remembered.ts'

/**
 * Hearth inside this process: sandboxes without a server.
 *
 * @example
 * await using hearth = new Hearth()
 * await using sandbox = await hearth.create({ atLeast: 'process' })
 * const { stdout } = await sandbox.exec('uname -a')
 */
export class Hearth implements AsyncDisposable {
  /** Where this Hearth has its state. */
  readonly paths: HostPaths
  /** The roots that sandboxes start from. */
  readonly templates: TemplateStore
  readonly #options: HearthOptions
  readonly #onProblem: OnProblem
  /** Captured sandboxes, which outlive those that they were taken of. */
  readonly snapshots: Snapshots
  /** Directories that outlive sandboxes. */
  readonly volumes: Volumes
  /** Machines that run before anybody asks for them. */
  readonly pool: Pool
  readonly #preparation: Preparation
  readonly #launcher: Launcher
  readonly #sleepers: Sleepers
  readonly #registry = new Remembered(() => this.#open())
  #disposed = false
  /** Rejects with the reason why this home cannot be opened; the next call tries again. */
  readonly open = async (): Promise<void> => void (await this.#ready())

  constructor(options: HearthOptions = {}) {
    const paths = hostPaths(options.home === undefined ? process.env : { ...process.env, HEARTH_HOME: options.home })
    this.paths = options.guest === undefined ? paths : { ...paths, guest: resolve(options.guest) }
    this.#options = options
    const { onProblem = unheard } = options
    this.#onProblem = onProblem
    this.templates = new TemplateStore(this.paths, onProblem)
    this.snapshots = new Snapshots(this.paths, onProblem)
    this.volumes = new Volumes({
      paths: this.paths,
      onProblem,
      hasQuotas: async () => (await (await this.#ready()).services.disks.kind()) === 'quota',
      holders: {
        isThere: (id) => isThere(sandboxDirectory(this.paths.sandboxes, id)),
        clear: (id) => this.discard(id),
      },
    })
    const { templates, snapshots } = this
    this.#preparation = new Preparation({ registry: () => this.#ready(), templates, snapshots })
    this.pool = new Pool(this.paths, poolSettings(options.pool, process.env), onProblem)
    this.#launcher = new Launcher(this.paths, {
      pool: this.pool,
      onProblem,
      gateway: options,
      captures: {
        comparisons: new Comparisons(this, async () => (await this.#ready()).services.facts),
        snapshot: (...wanted) => this.#typed(this.snapshots.take(...wanted)),
        fork: (...fork) => this.#fork(...fork),
        hibernate: (...sandbox) => this.#typed(this.#sleepers.hibernate(...sandbox)),
      },
      attachVolumes: (info) => this.volumes.attach(info),
      snapshotReleased: (snapshot, sandbox) => this.snapshots.released(snapshot, sandbox),
      sleeperKilled: (sandbox) => this.#sleepers.discard(sandbox),
    })
    this.#sleepers = new Sleepers({
      paths: this.paths,
      snapshots: this.snapshots,
      launcher: this.#launcher,
      onProblem,
      services: async () => (await this.#ready()).services,
      like: (record) => this.#preparation.like(record),
    })
  }

  /**
   * Makes a sandbox from a template, or with `from` from a snapshot, on the strongest rung that works here and fits.
   *
   * @example
   * await using sandbox = await hearth.create({ atLeast: 'gvisor', limits: { memoryBytes: 512 * 1024 ** 2 }, ttlMs: 600_000 })
   */
  async create(spec: CreateFrom = {}, options: CreateOptions = {}): Promise<EmbeddedSandbox> {
    const { signal } = options
    const prepared = await this.#typed(this.#preparation.prepare(spec, options), signal)
    const network = { ...prepared.network, ownHearth: options.ownHearth ?? false }
    return await this.#typed(this.#launcher.launch({ ...prepared, network }, options), signal)
  }

  async #typed<Value>(work: Promise<Value>, signal?: AbortSignal): Promise<Value> {
    return await work.catch((error: unknown) => {
      throw typedFailure(error, signal)
    })
  }

  async #fork(...[parent, count, options]: Parameters<Captures['fork']>): Promise<ForkResult<EmbeddedSandbox>> {
    const like = (record: UnownedRecord): Promise<Basis> => this.#preparation.like(record)
    const parts = { snapshots: this.snapshots, volumes: this.volumes, launcher: this.#launcher, like }
    return await this.#typed(forkSandbox(parts, parent, count, options), options.signal)
  }

  /** Says what a create would get, or why it would be refused, without making anything. */
  async plan(spec: CreateFrom = {}): Promise<Plan> {
    return await this.#preparation.plan(spec)
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
    if (sleeps(record)) throw hibernated(id)
    if (record.info.volumes.length > 0) await this.#settleVolumes()
    const driver = (await this.#ready()).byName(record.driver)
    const paused = options.paused ?? false
    const machine = await driver.adopt(id, directory, paused)
    // A hibernation that was not finished did not happen.
    const awake = { ...record, sleep: null }
    writeRecord(directory, awake)
    return await this.#launcher.own(awake, driver, machine, { paused })
  }

  /** Gives a sandbox that was hibernated its machine again, under the same identifier. With `memory: 'none'` only its files. */
  async wake(sandboxId: string, options: WakeOptions = {}): Promise<EmbeddedSandbox> {
    const id = parseInput(sandboxIdSchema, sandboxId, 'id')
    return await this.#typed(this.#sleepers.wake(id, options), options.signal)
  }

  /** Moves the deadline of a sandbox that is hibernated. */
  async expireAt(sandboxId: string, expiresAt: Date): Promise<void> {
    await this.#sleepers.expireAt(parseInput(sandboxIdSchema, sandboxId, 'id'), expiresAt)
  }

  /** The sandboxes of this home, whoever owns them. One whose record cannot be read is left out, and told to `onProblem`. */
  async list(): Promise<SandboxInfo[]> {
    return (await listRecords(this.paths.sandboxes, this.#onProblem)).map((record) => record.info)
  }

  /** Every sandbox that has left something in this home, and whether it lives. */
  async survey(): Promise<Surveyed[]> {
    return await surveySandboxes(this.paths, this.#held(), this.#onProblem)
  }

  #held(): ReadonlySet<string> {
    return new Set([...this.#launcher.live].map(({ id }) => id))
  }

  /** Ends a sandbox of this home and frees what the host holds for it, whatever a crash has left of it. Idempotent. */
  async discard(sandboxId: string): Promise<void> {
    const id = parseInput(sandboxIdSchema, sandboxId, 'id')
    const own = [...this.#launcher.live].find((sandbox) => sandbox.id === id)
    if (own !== undefined) await own.kill()
    const directory = sandboxDirectory(this.paths.sandboxes, id)
    // One that a crash has damaged is seen by the next sweep, and so is what it was made of.
    const record = await readRecord(directory).catch(() => null)
    await removeSandbox(id, directory, (await this.#ready()).services)
    for (const snapshot of record === null ? [] : snapshotsOf(record)) await this.snapshots.released(snapshot, id)
  }

  /** Removes what crashes have left and no sandbox uses: done by itself at the first use. What cannot be removed is told to `onProblem`; the rest goes. */
  async sweep(options: SweepOptions = {}): Promise<void> {
    await this.#sweep(await this.#ready(), options)
  }

  async #settleVolumes(graceMs?: number): Promise<void> {
    await this.volumes.settle((fork) => this.snapshots.isComplete(fork), graceMs)
  }

  async #sweep({ services }: DriverRegistry, options: SweepOptions = {}): Promise<void> {
    const settle = (): Promise<void> => this.#settleVolumes(options.graceMs)
    const settled = await attempt('settling the volumes of forks', settle, this.#onProblem)
    await sweep(this.paths, services, this.snapshots, this.#held(), options)
    // Otherwise nobody knows which of them belong to forks that are whole.
    if (settled) await attempt('sweeping volumes', () => this.volumes.sweep(options.graceMs), this.#onProblem)
  }

  /** Removes a template, unless a sandbox of this home still runs on it. What snapshots lie on stays as long as they do. */
  async removeTemplate(name: string): Promise<void> {
    const user = (await this.list()).find((info) => info.template === name)
    if (user !== undefined) throw new HearthError('template_in_use', `sandbox ${user.id} runs on template ${name}`)
    await this.pool.drop(name)
    await this.templates.remove(name, await this.snapshots.templateDigests())
  }

  /** An image for one who has its credentials, until it is disposed of or for as long as something lies on it. */
  async pullPrivately(image: PrivateImage, options: ResolveOptions = {}): Promise<PrivatePull> {
    const handle = await this.templates.pull(image, options)
    const letGo = async (): Promise<void> => this.templates.letGo(handle, await this.snapshots.templateDigests())
    return { handle, [Symbol.asyncDispose]: letGo }
  }

  /** What each driver says of this host. `fresh`: tried now, not remembered. */
  async rungs(options: { readonly fresh?: boolean } = {}): Promise<RungReport[]> {
    return reportRungs(await (await this.#ready()).probeAll(options))
  }

  async #ready(): Promise<DriverRegistry> {
    if (this.#disposed) throw new HearthError('internal', 'this Hearth has been disposed of')
    return await this.#registry.get()
  }

  async #open(): Promise<DriverRegistry> {
    const spares = this.#options.spareKeepers ?? DEFAULT_SPARE_KEEPERS
    const registry = new DriverRegistry(this.paths, await readHostFacts(), spares, this.#onProblem)
    try {
      // After a reboot the store is not mounted, and what lies in it would look lost.
      await registry.services.disks.kind()
      await this.#sweep(registry)
      return registry
    } catch (error) {
      await inBackground('ending what was prepared', () => registry.dispose(), this.#onProblem)
      throw error
    }
  }

  /** Prepares what makes the next creates faster. */
  async warm(): Promise<void> {
    const { keepers, disks } = (await this.#ready()).services
    await Promise.all([keepers.fill(), disks.fill(), this.pool.fill()])
  }

  /** Ends every sandbox that this Hearth made or adopted. */
  dispose(): Promise<void> {
    return this.#leave((sandbox) => sandbox.kill())
  }

  /** Ends this Hearth alone: the sandboxes live on until their deadlines, for another process to adopt them. */
  release(): Promise<void> {
    return this.#leave((sandbox) => sandbox.release())
  }

  async #leave(leave: (sandbox: EmbeddedSandbox) => Promise<void>): Promise<void> {
    this.#disposed = true
    const left = await Promise.allSettled([...this.#launcher.live].map(leave))
    this.#launcher.live.clear()
    await this.#sleepers.settled()
    await this.snapshots.settled()
    await this.pool.dispose()
    // One that could not be opened has been told to who needed it.
    await (await this.#registry.known())?.dispose()
    // Only now: what one sandbox leaves behind shall keep nothing else from being ended.
    const failed = left.find((each) => each.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose()
  }
}
