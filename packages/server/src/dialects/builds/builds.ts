import { HearthError, newId, type CreateSandbox, type Policy, type SnapshotId } from '@hearth/contract'
import type { PrivatePull } from '@hearth/engine'
import type { Logger } from 'pino'
import type { Caller, ControlPlane } from '../../control-plane.ts'
import {
  ABANDONED_MS,
  type NewTemplateBuild,
  type TemplateBuild,
  type TemplateBuildRepository,
} from '../../state/index.ts'
import { BuildLog } from './build-log.ts'
import { placeAfter, START, type Place, type Recipe } from './recipe.ts'
import { runRecipe } from './run-recipe.ts'

const BUILD_MS = 3_600_000
/** At one time, of all tenants. */
const MOST_RUNNING = 4
/** Logs that are remembered after their build is over. */
const MOST_LOGS = 200
const TOUCH_MS = 15_000
const SWEEP_MS = 300_000
/** How long a build can be asked about that failed or was never begun. */
const KEPT_MS = 24 * 3_600_000

/** Template builds: each is carried out in a sandbox of its own, which is kept as a snapshot. What is under way and what it became are rows. */
export class Builds {
  readonly #plane: ControlPlane
  readonly #store: TemplateBuildRepository
  readonly #policy: Policy | null
  readonly #logger: Logger
  readonly #logs = new Map<string, BuildLog>()
  readonly #running = new Map<string, Promise<void>>()
  readonly #stop = new AbortController()
  readonly #timers: readonly NodeJS.Timeout[]

  /** `policy`: what builds may reach, null for nothing. It is not for sandboxes of what they make. */
  constructor(
    plane: ControlPlane,
    store: TemplateBuildRepository,
    { policy, logger }: { readonly policy: Policy | null; readonly logger: Logger },
  ) {
    this.#plane = plane
    this.#store = store
    this.#policy = policy
    this.#logger = logger
    this.#timers = [
      setInterval(() => void this.#attempt(() => this.#store.touch([...this.#running.keys()])), TOUCH_MS).unref(),
      setInterval(() => void this.#attempt(() => this.#sweepAll()), SWEEP_MS).unref(),
    ]
    void this.#attempt(() => this.#sweepAll())
  }

  async create({ tenantId }: Caller, given: Omit<NewTemplateBuild, 'tenantId'>): Promise<TemplateBuild> {
    return await this.#store.create({ tenantId, ...given })
  }

  /** Another tenant's is not there. One that nobody carries out any more has failed. */
  async get({ tenantId }: Caller, id: string): Promise<TemplateBuild> {
    const build = await this.#store.get(tenantId, id)
    return isAbandoned(build) && !this.#running.has(id) ? await this.#abandon(build) : build
  }

  async list({ tenantId }: Caller, name?: string): Promise<TemplateBuild[]> {
    return (await this.#store.list(tenantId, name)).filter(({ adopted }) => !adopted)
  }

  /** Builds of a template, and snapshots that were taken under its name. */
  async named({ tenantId }: Caller, name: string): Promise<TemplateBuild[]> {
    return await this.#store.list(tenantId, name)
  }

  /** Snapshots that were taken under a name. */
  async adopted({ tenantId }: Caller): Promise<TemplateBuild[]> {
    return (await this.#store.list(tenantId)).filter(({ adopted }) => adopted)
  }

  /** The name and tag lead to this snapshot from now on. */
  async adopt(caller: Caller, name: string, tag: string, snapshot: SnapshotId): Promise<void> {
    await this.#store.adopt({ tenantId: caller.tenantId, name }, tag, snapshot)
    await this.sweep(caller, name)
  }

  /** What it has said here; null for one that this server does not carry out. */
  log(id: string): BuildLog | null {
    return this.#logs.get(id) ?? null
  }

  /** Resolves when it is under way. */
  async begin(caller: Caller, build: TemplateBuild, recipe: Recipe): Promise<void> {
    if (this.#running.size >= MOST_RUNNING) throw new HearthError('too_many', `${MOST_RUNNING} builds are under way`)
    const place = recipe.steps.reduce((at, { step }) => placeAfter(at, step), START)
    await this.#store.begin(build.id, place.user)
    const log = this.#newLog(build.id)
    const work = this.#carryOut(caller, build, recipe, { place, log }).finally(() => {
      this.#running.delete(build.id)
      log.end()
    })
    this.#running.set(build.id, work)
  }

  /** The build that a tag of a template leads to; null when there is none. */
  async tagged(
    { tenantId }: Caller,
    name: string,
    tag: string,
  ): Promise<(TemplateBuild & { readonly snapshotId: SnapshotId }) | null> {
    const builds = await this.#store.list(tenantId, name)
    const found = builds.find(({ state, tags }) => state === 'ready' && tags.includes(tag))
    return found === undefined || found.snapshotId === null ? null : { ...found, snapshotId: found.snapshotId }
  }

  async assign(caller: Caller, build: TemplateBuild, tags: readonly string[]): Promise<void> {
    await this.#store.assign(build, tags)
    await this.sweep(caller, build.name)
  }

  async unassign(caller: Caller, name: string, tags: readonly string[]): Promise<void> {
    await this.#store.unassign(caller.tenantId, name, tags)
    await this.sweep(caller, name)
  }

  /** Removes what no tag leads to any more. What sandboxes were made of stays as long as they do. */
  async sweep(caller: Caller, name: string): Promise<void> {
    for (const build of await this.#store.list(caller.tenantId, name)) {
      await this.#settle(caller, build, build.state === 'ready' && build.tags.length === 0)
    }
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    this.#stop.abort(new HearthError('aborted', 'the server ends'))
    await Promise.allSettled(this.#running.values())
  }

  async #carryOut(
    caller: Caller,
    build: TemplateBuild,
    recipe: Recipe,
    { place, log }: { readonly place: Place; readonly log: BuildLog },
  ): Promise<void> {
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(BUILD_MS)])
    const progress = { step: 'base' }
    let made: string | null = null
    let pulled: PrivatePull | null = null
    const reach = this.#policy === null ? {} : { policy: this.#policy }
    try {
      if (recipe.image !== undefined) {
        const onProgress = (line: string): void => log.say(line)
        pulled = await this.#plane.templates.pull(caller, recipe.image, { signal, onProgress })
      }
      const root = pulled === null ? recipe.root : { template: pulled.handle }
      const view = await this.#plane.create(
        caller,
        { ...requestOf(build, { ...recipe, root }, place), ...reach },
        { idempotencyKey: null, signal },
      )
      made = view.id
      await this.#store.touch([build.id], made)
      log.say(`building ${build.name} on ${view.rung}`)
      using use = await this.#plane.use(caller, made)
      await runRecipe({ sandbox: use.sandbox, log, signal, at: (step) => void (progress.step = step) }, recipe)
      const memory = recipe.start === null ? 'none' : 'required'
      const call = { idempotencyKey: null, signal }
      const { id } = await this.#plane.copies.snapshot(caller, made, { memory }, call)
      await this.#keep(caller, build, id)
      log.say(`${build.name} is ready`)
    } catch (error) {
      const message = HearthError.isInstance(error) ? error.message : 'the build failed'
      if (!HearthError.isInstance(error)) this.#logger.error({ event: 'template.build', build: build.id, err: error })
      log.say(message, 'error')
      await this.#attempt(() => this.#store.failed(build.id, { message, step: progress.step }))
    } finally {
      const sandbox = made
      if (sandbox !== null) await this.#attempt(() => this.#plane.delete(caller, sandbox))
      const image = pulled
      if (image !== null) await this.#attempt(async () => image[Symbol.asyncDispose]())
    }
    await this.#attempt(() => this.sweep(caller, build.name))
  }

  async #keep(caller: Caller, build: TemplateBuild, snapshot: SnapshotId): Promise<void> {
    try {
      await this.#store.ready(build, snapshot)
    } catch (error) {
      await this.#attempt(() => this.#plane.snapshots.remove(caller, snapshot))
      throw error
    }
  }

  async #settle(caller: Caller, build: TemplateBuild, unled: boolean): Promise<void> {
    const { id, state, snapshotId, adopted } = build
    if (isAbandoned(build) && !this.#running.has(id)) return void (await this.#abandon(build))
    const old = ['waiting', 'error'].includes(state) && build.updatedAt < Date.now() - KEPT_MS
    if (!old && !unled) return
    try {
      if (snapshotId !== null && !adopted) await this.#plane.snapshots.remove(caller, snapshotId)
    } catch (error) {
      const code = HearthError.isInstance(error) ? error.code : null
      // Sandboxes of it live; the next sweep looks again.
      if (code === 'snapshot_in_use' || code === 'conflict') return
      if (code !== 'snapshot_not_found') throw error
    }
    await this.#store.remove(caller.tenantId, id)
  }

  async #abandon(build: TemplateBuild): Promise<TemplateBuild> {
    const { id, tenantId, sandboxId } = build
    await this.#store.failed(id, { message: 'the server ended while this was built', step: 'base' })
    if (sandboxId !== null) await this.#attempt(() => this.#plane.delete(sweeper(tenantId), sandboxId))
    return await this.#store.get(tenantId, id)
  }

  async #sweepAll(): Promise<void> {
    for (const build of await this.#store.unsettled()) {
      await this.#settle(sweeper(build.tenantId), build, build.state === 'ready')
    }
  }

  #newLog(id: string): BuildLog {
    const log = new BuildLog()
    this.#logs.set(id, log)
    for (const other of this.#logs.keys()) {
      if (this.#logs.size <= MOST_LOGS) break
      if (!this.#running.has(other) && other !== id) this.#logs.delete(other)
    }
    return log
  }

  async #attempt(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      const gone = HearthError.isInstance(error) && error.code === 'sandbox_not_found'
      if (!gone) this.#logger.warn({ event: 'template.builds', err: error })
    }
  }
}

function isAbandoned({ state, updatedAt }: TemplateBuild): boolean {
  return state === 'building' && updatedAt < Date.now() - ABANDONED_MS
}

function sweeper(tenantId: string): Caller {
  return {
    tenantId,
    keyId: 'template builds',
    scopes: new Set(['sandbox:write']),
    requestId: newId('req'),
    holder: null,
  }
}

/** Sandboxes of a snapshot begin as the one that it was taken of: so this one has what the recipe ends with, but for its user, who may not be there yet. */
function requestOf(build: TemplateBuild, recipe: Recipe, place: Place): CreateSandbox {
  return {
    ...recipe.root,
    ...recipe.rung,
    limits: { ...build.limits, wallTimeMs: BUILD_MS },
    ttlMs: BUILD_MS,
    env: { ...place.env },
    ...(place.workdir === null ? {} : { workdir: place.workdir }),
    metadata: { 'hearth.build': build.id },
  }
}
