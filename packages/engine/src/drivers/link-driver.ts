import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { HearthError, type SandboxId } from '@hearth/contract'
import type { Cgroups } from '../host/cgroups.ts'
import type { HostFacts } from '../host/facts.ts'
import type { HostPaths } from '../host/host.ts'
import type { IdRanges } from '../host/id-ranges.ts'
import { inBackground, type OnProblem } from '../host/in-background.ts'
import { connectKeeper, connectLane, endKeeper, isPaused } from '../host/keeper-process.ts'
import type { KeeperPool } from '../host/keeper-pool.ts'
import { claimOnKeeper, launchOnKeeper, type PreparedKeeper } from '../host/keeper.ts'
import { Link } from '../link/link.ts'
import type { LinkEnd } from '../link/link-end.ts'
import { LinkMachine } from '../machine/link-machine.ts'
import type { Machine } from '../machine/machine.ts'
import type { DiskAreas } from '../store/disk-area.ts'
import { MachineCapture } from './capture-machine.ts'
import { ClaimableMachine } from './claimable-machine.ts'
import type { Driver, LaunchRequest, Probe } from './driver.ts'
import { ASLEEP, endOf } from './end-of-machine.ts'
import { greet } from './greet-machine.ts'
import { incompatibleMemory, requireSameTools } from './incompatible-memory.ts'
import type { LaunchPlan, Step } from './launch-plan.ts'
import { MachineHandle } from './machine-handle.ts'
import type { MachinePlace } from './machine-place.ts'
import { freeResources, readResources, writeResources, type MachineResources } from './machine-resources.ts'
import type { AheadRuntime, DiskArea, LinkRuntime, PlanInput } from './link-runtime.ts'
import { memorySource } from './memory-source.ts'
import type { ProbeCache } from './probe-cache.ts'
import { rehearse } from './rehearse.ts'
import { Remembered } from '../host/remembered.ts'

/** What all link drivers of one Hearth share. */
export interface LinkServices {
  readonly paths: HostPaths
  readonly facts: HostFacts
  readonly cgroups: Cgroups
  readonly keepers: KeeperPool
  readonly disks: DiskAreas
  readonly ids: IdRanges
  readonly probes: ProbeCache
  /** Told of what fails while nobody waits for it. */
  readonly onProblem: OnProblem
}

/** A machine that was started, with what only its driver sees of it. */
interface Started {
  readonly place: MachinePlace
  readonly socket: Socket
  readonly link: Link
  readonly machine: LinkMachine
}

/** Turns a runtime's plan into a running machine: keeper, limits, link, identity. The same for every rung with a guest. */
export class LinkDriver implements Driver {
  readonly rung: Driver['rung']
  readonly name: string
  readonly #runtime: LinkRuntime
  readonly #services: LinkServices
  readonly launchUnclaimed?: NonNullable<Driver['launchUnclaimed']>
  readonly #probe = new Remembered(() => this.#findOut(false))

  constructor(runtime: LinkRuntime, services: LinkServices) {
    this.#runtime = runtime
    this.#services = services
    this.rung = runtime.rung
    this.name = runtime.name
    const { renames } = runtime
    if (renames === undefined) return
    this.launchUnclaimed = async (request) => {
      const { place, socket, link, machine } = await this.#launch(request, true)
      await rehearse(machine)
      return new ClaimableMachine(place, link, socket, machine, renames, services)
    }
  }

  probe(options: { fresh?: boolean } = {}): Promise<Probe> {
    return options.fresh === true ? this.#probe.renew(() => this.#findOut(true)) : this.#probe.get()
  }

  async #findOut(fresh: boolean): Promise<Probe> {
    const { probes, onProblem } = this.#services
    const remembered = fresh ? null : await probes.get(this.name)
    if (remembered !== null) return remembered
    const probe = await this.#runtime.probe(this.#services)
    // What was found out is as true when there is no room to write it down.
    await inBackground(`noting what ${this.name} can do here`, () => probes.put(this.name, probe), onProblem)
    return probe
  }

  async launch(request: LaunchRequest): Promise<Machine> {
    return (await this.#launch(request, false)).machine
  }

  async #launch(asked: LaunchRequest, unclaimed: boolean): Promise<Started> {
    // A copy of a machine knows them by their order, whoever names them.
    const request = { ...asked, volumes: asked.volumes.toSorted((one, other) => (one.path < other.path ? -1 : 1)) }
    let keeper: PreparedKeeper | null = null
    let resources: MachineResources | null = null
    try {
      await this.#runtime.prepareTemplate?.(request.template, this.#services, request.progress ?? (() => undefined))
      await this.#check(request)
      const ahead = this.#takeAhead(request)
      keeper = ahead?.keeper ?? (await this.#services.keepers.take())
      const idBase = this.#ids(request, ahead)
      const disk = await this.#disk(request)
      resources = { cgroup: keeper.cgroup, idBase, disk: { path: disk.path, kind: disk.kind, layers: disk.layers } }
      writeResources(request.directory, resources)
      const restored = await this.#start(keeper, { request, disk, idBase }, ahead)
      request.diskMade?.()
      const started = this.#machine({ id: request.id, directory: request.directory, resources }, keeper.socket)
      const volumes = this.#runtime.attaches === 'guest' ? request.volumes : []
      await greet(started.link, request, {
        restored,
        renewed: unclaimed || request.from !== null,
        volumes,
        others: hasOthers(request),
      })
      return started
    } catch (error) {
      throw await this.#undo(error, request, keeper, resources)
    }
  }

  async #disk(request: LaunchRequest): Promise<DiskArea> {
    if (this.#runtime.ownDisk === true) return { path: request.directory, kind: 'none', steps: [], layers: [] }
    const { id, directory, limits, from } = request
    return await this.#services.disks.area(id, directory, limits.diskBytes, from, this.#runtime.diskForm)
  }

  /** Starts the runtime, or lets one go on that waits. Whether the machine comes from captured memory. */
  async #start(keeper: PreparedKeeper, input: PlanInput, ahead: AheadRuntime | null): Promise<boolean> {
    const { request, disk } = input
    const limits = (plan: Pick<LaunchPlan, 'cgroup'>): string[] =>
      plan.cgroup === null ? [] : this.#services.cgroups.limitWrites(keeper.cgroup, plan.cgroup)
    const { memory } = this.#runtime
    const from = memorySource(request)
    if (ahead !== null && from !== null && memory?.ahead !== undefined) {
      const claim = await memory.ahead.planClaim({ ...input, from }, this.#services)
      const steps = around(disk, claim.steps)
      await claimOnKeeper(keeper, request.directory, { ...claim, steps }, limits(claim))
      return true
    }
    const plan =
      from === null || memory === undefined
        ? await this.#runtime.plan(input, this.#services)
        : await memory.planRestore({ ...input, from }, this.#services)
    await launchOnKeeper(keeper, request.directory, { ...plan, steps: around(disk, plan.steps) }, limits(plan))
    return plan.restored ?? from !== null
  }

  async #check(request: LaunchRequest): Promise<void> {
    const from = memorySource(request)
    if (from === null) return
    const { memory } = this.#runtime
    if (memory === undefined)
      throw incompatibleMemory(`${this.name} cannot restore the processes of snapshot ${from.id}`)
    requireSameTools(from.manifest, request.template)
    await memory.check(from.manifest, request.limits, this.#services)
  }

  #takeAhead(request: LaunchRequest): AheadRuntime | null {
    // What waits was started with the mounts that every sandbox has.
    if (memorySource(request) === null || request.volumes.length > 0) return null
    return this.#runtime.memory?.ahead?.take(request.template, this.#services) ?? null
  }

  #ids(request: LaunchRequest, ahead: AheadRuntime | null): number | null {
    if (!this.#services.facts.root) return null
    if (ahead === null) return this.#services.ids.allocate(request.id)
    this.#services.ids.give(ahead.idBase, request.id)
    return ahead.idBase
  }

  async dispose(): Promise<void> {
    await this.#runtime.memory?.ahead?.dispose()
  }

  async adopt(id: SandboxId, directory: string, paused: boolean): Promise<Machine> {
    const resources = await readResources(directory)
    if (resources === null) throw new HearthError('sandbox_ended', `sandbox ${id} was never launched`)
    const socket = await connectKeeper(directory)
    const { machine } = this.#machine({ id, directory, resources }, socket)
    try {
      // What it was told before its engine died may still be on its way: saying it again settles it. A frozen guest is greeted when it wakes.
      if (paused) await machine.pause()
      else await machine.resume()
      return machine
    } catch (error) {
      // One that ended is cleaned up; one that only does not answer lives on.
      if (!socket.destroyed) await machine.release()
      throw error
    }
  }

  /** A machine that has not been greeted yet, whose end is noticed and cleaned up. */
  #machine(place: MachinePlace, socket: Socket): Started {
    let asleep = false
    const end = (): LinkEnd | null =>
      asleep ? ASLEEP : endOf(place.directory, handle.oomKills, this.#services.onProblem)
    const link = new Link(socket, end, () => connectLane(place.directory))
    const handle = new MachineHandle(place, socket, link, this.#services)
    const capture = new MachineCapture(this.#runtime, this.#services, {
      place,
      link,
      isPaused: () => isPaused(place.directory),
      pause: () => machine.pause(),
      standStill: () => machine.standStill(),
      resume: () => machine.resume(),
    })
    const machine: LinkMachine = new LinkMachine({
      link,
      isPaused: () => isPaused(place.directory),
      ...(this.#runtime.ownDisk === true
        ? {}
        : { capture: (target, mode, still) => capture.take(target, mode, still) }),
      recover: async () =>
        await this.#runtime.memory?.recover?.({ id: place.id, sandboxDirectory: place.directory }, this.#services),
      ...(this.#runtime.traceProcesses === undefined
        ? {}
        : { traceProcesses: (signal) => this.#traceProcesses(place, signal) }),
      ownsDisk: this.#runtime.diskForm === 'image',
      ownTimes: this.rung === 'gvisor',
      ended: handle.ended,
      kill: (cause) => {
        asleep = cause === 'sleep'
        return handle.kill()
      },
      release: () => handle.release(),
      oomKills: handle.oomKills,
      hostStats: async () => {
        const [memoryBytes, diskUsedBytes] = await Promise.all([
          this.#runtime.countedElsewhere === true ? null : this.#services.cgroups.memoryBytes(place.resources.cgroup),
          // What an image holds is for its own kernel to say.
          this.#runtime.diskForm === 'image' ? null : this.#services.disks.usedBytes(place.resources.disk),
        ])
        return {
          ...(memoryBytes === null ? {} : { memoryBytes }),
          ...(diskUsedBytes === null ? {} : { diskUsedBytes }),
        }
      },
    })
    return { place, socket, link, machine }
  }

  async *#traceProcesses(place: MachinePlace, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    // Where it lies, and lives, is known when it is asked.
    yield* this.#runtime.traceProcesses?.(place.directory, this.#services, signal) ?? []
  }

  async #undo(
    error: unknown,
    request: LaunchRequest,
    keeper: PreparedKeeper | null,
    resources: MachineResources | null,
  ): Promise<unknown> {
    const { id, directory } = request
    const log = await readFile(join(directory, 'runtime.log'), 'utf8').catch(() => '')
    const { onProblem } = this.#services
    // Each whatever becomes of the others, and none in the place of the error: what is left is swept.
    await inBackground(`ending the keeper of ${id}, which was not launched`, () => endKeeper(directory), onProblem)
    const discard = (unused: PreparedKeeper): Promise<void> => this.#services.keepers.discard(unused)
    if (keeper !== null) await inBackground(`ending a keeper of ${id}`, () => discard(keeper), onProblem)
    const free = (): Promise<void> => freeResources(id, directory, resources, this.#services)
    await inBackground(`freeing what ${id} held, which was not launched`, free, onProblem)
    if (request.signal?.aborted === true)
      return new HearthError('aborted', 'the launch was abandoned', { cause: error })
    if (!HearthError.isInstance(error) || log.trim() === '') return error
    const tail = log.trim().slice(-2000)
    return new HearthError(error.code, `${error.message}; the runtime said: ${tail}`, {
      cause: error,
      context: { ...error.context },
    })
  }
}

/** Those of a fork and of a sleep are as they were. */
function hasOthers({ from }: LaunchRequest): boolean {
  return from?.manifest.kind === 'snapshot'
}

function around({ steps, lastSteps = [] }: DiskArea, planned: readonly Step[]): Step[] {
  return [...steps, ...planned, ...lastSteps]
}
