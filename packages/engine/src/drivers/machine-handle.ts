import type { Socket } from 'node:net'
import { HearthError } from '@hearth/contract'
import type { Cgroups, OomCounter } from '../host/cgroups.ts'
import type { IdRanges } from '../host/id-ranges.ts'
import { inBackground, type OnProblem } from '../host/in-background.ts'
import { endKeeper, explainEnd } from '../host/keeper-process.ts'
import { encodeFrame } from '../link/encode-frame.ts'
import type { Link } from '../link/link.ts'
import type { MachineEnd } from '../machine/machine.ts'
import type { DiskAreas } from '../store/disk-area.ts'
import type { MachinePlace } from './machine-place.ts'
import { freeResources } from './machine-resources.ts'

const KILL_PATIENCE_MS = 500

/** The host's side of one machine's life: how it is ended, let go of, and what is freed afterwards. */
export class MachineHandle {
  readonly ended: Promise<MachineEnd>
  readonly #place: MachinePlace
  readonly #socket: Socket
  #outcome: MachineEnd['reason'] | 'released' | null = null
  /** What kept the host's resources from being freed; the next sweep tries again. */
  #leftover: HearthError | null = null
  readonly #free: () => Promise<void>
  readonly #onProblem: OnProblem
  readonly #oomCounter: OomCounter

  constructor(
    place: MachinePlace,
    socket: Socket,
    link: Link,
    services: {
      readonly cgroups: Cgroups
      readonly disks: DiskAreas
      readonly ids: IdRanges
      readonly onProblem: OnProblem
    },
  ) {
    this.#place = place
    this.#socket = socket
    this.#onProblem = services.onProblem
    this.#free = () => freeResources(place.id, place.directory, place.resources, services)
    this.#oomCounter = services.cgroups.oomCounter(place.resources.cgroup)
    const { promise, resolve } = Promise.withResolvers<MachineEnd>()
    this.ended = promise
    socket.once('close', () => {
      void this.#closed(link).then(resolve)
    })
  }

  readonly oomKills = (): number => this.#oomCounter.read()

  async #closed(link: Link): Promise<MachineEnd> {
    this.#oomCounter.close()
    if (this.#outcome === 'released') return await new Promise<never>(() => undefined)
    const violation = link.violation
    const detail = await this.#clear()
    if (this.#outcome === 'killed') return { reason: 'killed', detail: 'killed' }
    if (violation !== null) return { reason: 'protocol_violation', detail: violation }
    return { reason: 'exited', detail }
  }

  /** Frees what the host holds for it, and says how it ended. What fails is told to who kills it, and reported for all others. */
  async #clear(): Promise<string> {
    const { directory } = this.#place
    let detail = 'the link broke'
    try {
      await endKeeper(directory)
      detail = explainEnd(directory, this.oomKills())?.detail ?? detail
      await this.#free()
    } catch (cause) {
      this.#leftover = new HearthError('internal', `${directory} could not be freed`, { cause })
      this.#onProblem(`freeing ${directory}`, cause)
    }
    return detail
  }

  async kill(): Promise<void> {
    if (this.#outcome === null) {
      this.#outcome = 'killed'
      this.#socket.write(encodeFrame('KeeperEnd', {}))
      // The frame waits behind what a guest does not read; a signal does not.
      const { directory } = this.#place
      const end = (): Promise<void> => endKeeper(directory)
      const patience = setTimeout(
        () => void inBackground(`ending the keeper of ${directory}`, end, this.#onProblem),
        KILL_PATIENCE_MS,
      )
      await this.ended.finally(() => clearTimeout(patience))
    }
    await this.ended
    if (this.#leftover !== null) throw this.#leftover
  }

  async release(): Promise<void> {
    this.#outcome ??= 'released'
    this.#socket.destroy()
  }
}
