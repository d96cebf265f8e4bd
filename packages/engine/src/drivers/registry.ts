import { HearthError } from '@hearth/contract'
import { Cgroups } from '../host/cgroups.ts'
import type { HostFacts } from '../host/facts.ts'
import type { HostPaths } from '../host/host.ts'
import { IdRanges } from '../host/id-ranges.ts'
import { unheard, type OnProblem } from '../host/in-background.ts'
import { KeeperPool } from '../host/keeper-pool.ts'
import { DiskAreas } from '../store/disk-area.ts'
import { CONTAINER_RUNTIMES } from './container/container-runtime.ts'
import { DockerRuntime } from './docker/docker-runtime.ts'
import type { Driver } from './driver.ts'
import { GvisorRuntime } from './gvisor/gvisor-runtime.ts'
import { LinkDriver, type LinkServices } from './link-driver.ts'
import { MicrovmRuntime } from './microvm/microvm-runtime.ts'
import { ProbeCache } from './probe-cache.ts'
import { ProcessRuntime } from './process/process-runtime.ts'
import type { ProbedDriver } from './select-driver.ts'
import { SimulatedDriver } from './simulated/simulated-driver.ts'
import { Remembered } from '../host/remembered.ts'

/** All drivers of one host, strongest first, and what they share. */
export class DriverRegistry {
  readonly services: LinkServices
  readonly drivers: readonly Driver[]
  readonly #probed = new Remembered(() => this.#probeAll())

  constructor(paths: HostPaths, facts: HostFacts, spares: number, onProblem: OnProblem = unheard) {
    const cgroups = new Cgroups(facts.cgroups, paths.home)
    this.services = {
      paths,
      facts,
      cgroups,
      onProblem,
      keepers: new KeeperPool(paths.guest, paths.home, cgroups, spares, onProblem),
      disks: new DiskAreas(paths, facts, spares, onProblem),
      ids: new IdRanges(paths.home),
      probes: new ProbeCache(paths),
    }
    const runtimes = [
      new MicrovmRuntime(),
      new GvisorRuntime(),
      ...CONTAINER_RUNTIMES,
      new DockerRuntime(),
      new ProcessRuntime(),
    ]
    this.drivers = [...runtimes.map((runtime) => new LinkDriver(runtime, this.services)), new SimulatedDriver()]
  }

  /** Probes every driver once, side by side; `fresh` does it again. */
  probeAll(options: { fresh?: boolean } = {}): Promise<ProbedDriver[]> {
    return options.fresh === true ? this.#probed.renew(() => this.#probeAll(options)) : this.#probed.get()
  }

  async #probeAll(options: { fresh?: boolean } = {}): Promise<ProbedDriver[]> {
    return await Promise.all(this.drivers.map(async (driver) => ({ driver, probe: await driver.probe(options) })))
  }

  /** Ends what was prepared ahead of need. */
  async dispose(): Promise<void> {
    await Promise.all(this.drivers.map(async (driver) => await driver.dispose?.()))
    await Promise.all([this.services.keepers.dispose(), this.services.disks.dispose()])
  }

  byName(name: string): Driver {
    const driver = this.drivers.find((candidate) => candidate.name === name)
    if (driver === undefined) throw new HearthError('rung_unavailable', `this host has no driver ${name}`)
    return driver
  }
}
