import { inBackground } from '../../host/in-background.ts'
import { launchOnKeeper } from '../../host/keeper.ts'
import type { Template } from '../../templates/template.ts'
import type { ClaimPlan } from '../launch-plan.ts'
import type { LinkServices } from '../link-driver.ts'
import type { AheadRuntime, AheadRuntimes, RestoreInput, RuntimeContext } from '../link-runtime.ts'
import { stageRoot } from '../staging/staged-root.ts'
import { aheadBundle, planAhead, planClaim, type AheadBundle } from './ahead-plan.ts'
import type { Runsc } from './runsc-plan.ts'

/** Each costs about 35 MB while it waits. */
const READY = 2
/** A restore under way shall not share the processor with the next one's preparation. */
const REFILL_DELAY_MS = 150
/** When nothing was restored for so long, none waits. */
const IDLE_MS = 60_000

/**
 * Sandboxes of gVisor that are made but for their root, their memory and their name. The first restore of a process finds none;
 * after it a few wait for the next.
 */
export class AheadStock implements AheadRuntimes {
  readonly #runsc: (context: RuntimeContext) => Promise<Runsc>
  /** By the shape of their bundle. */
  readonly #ready = new Map<string, AheadRuntime[]>()
  readonly #filling = new Map<string, Promise<unknown>>()
  #refill: NodeJS.Timeout | undefined
  #idle: NodeJS.Timeout | undefined
  #services: LinkServices | null = null
  #disposed = false

  constructor(runsc: (context: RuntimeContext) => Promise<Runsc>) {
    this.#runsc = runsc
  }

  take(template: Template, services: LinkServices): AheadRuntime | null {
    if (!services.facts.root || this.#disposed) return null
    const bundle = aheadBundle(template, services.paths)
    this.#schedule(bundle, services)
    const ready = this.#ready.get(bundle.key) ?? []
    for (let found = ready.shift(); found !== undefined; found = ready.shift()) {
      if (found.keeper.socket.destroyed) continue
      found.keeper.socket.ref()
      return found
    }
    return null
  }

  async planClaim(input: RestoreInput, context: RuntimeContext): Promise<ClaimPlan> {
    return planClaim(input, await stageRoot(input, context))
  }

  /** Starts as many as shall wait, and resolves when they have been started. */
  async fill(template: Template, services: LinkServices, count = READY): Promise<void> {
    await this.#fill(aheadBundle(template, services.paths), services, count)
  }

  #schedule(bundle: AheadBundle, services: LinkServices): void {
    this.#services = services
    clearTimeout(this.#refill)
    clearTimeout(this.#idle)
    const { onProblem } = services
    const fill = (): Promise<void> => this.#fill(bundle, services, READY)
    this.#refill = setTimeout(
      () => void inBackground('starting gVisor ahead of restores', fill, onProblem),
      REFILL_DELAY_MS,
    )
    this.#idle = setTimeout(
      () => void inBackground('ending gVisor that waited', () => this.#empty(), onProblem),
      IDLE_MS,
    )
    this.#refill.unref()
    this.#idle.unref()
  }

  async #fill(bundle: AheadBundle, services: LinkServices, count: number): Promise<void> {
    this.#services = services
    await this.#filling.get(bundle.key)
    if (this.#disposed) return
    const missing = count - (this.#ready.get(bundle.key)?.length ?? 0)
    // All have ended, whatever becomes of one: what follows must not meet one that is still being started.
    const starts = Promise.allSettled(Array.from({ length: Math.max(0, missing) }, () => this.#start(bundle, services)))
    this.#filling.set(bundle.key, starts)
    const failed = (await starts).find((start) => start.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  async #start(bundle: AheadBundle, services: LinkServices): Promise<void> {
    const runsc = await this.#runsc(services)
    const keeper = await services.keepers.take()
    const idBase = services.ids.reserve()
    try {
      const plan = await planAhead(runsc, bundle, idBase, services.paths)
      await launchOnKeeper(keeper, '/', plan, [])
    } catch (error) {
      await discard({ keeper, idBase }, services)
      throw error
    }
    if (this.#disposed) return await discard({ keeper, idBase }, services)
    // A process that has nothing else to do may end, and they with it.
    keeper.socket.unref()
    this.#ready.set(bundle.key, [...(this.#ready.get(bundle.key) ?? []), { keeper, idBase }])
  }

  async #empty(): Promise<void> {
    const waiting = [...this.#ready.values()].flat()
    this.#ready.clear()
    const services = this.#services
    if (services !== null) await Promise.all(waiting.map((ahead) => discard(ahead, services)))
  }

  async dispose(): Promise<void> {
    this.#disposed = true
    clearTimeout(this.#refill)
    clearTimeout(this.#idle)
    await Promise.all(this.#filling.values())
    await this.#empty()
  }
}

/** Its keeper ends it when we let go. */
async function discard({ keeper, idBase }: AheadRuntime, services: LinkServices): Promise<void> {
  await services.keepers.discard(keeper)
  await services.ids.release(idBase)
}
