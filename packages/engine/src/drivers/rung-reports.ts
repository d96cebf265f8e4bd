import type { Rung } from '@hearth/contract'
import type { Probe } from './driver.ts'
import { selectDriver, type ProbedDriver } from './select-driver.ts'

/** What a rung can do on this host. */
export interface RungReport {
  readonly rung: Rung
  /** What implements the rung, by name. */
  readonly driver: string
  /** Whether it works here and what it can do, or why not and what would change that. */
  readonly probe: Probe
  /** True for the one that a create without demands gets. */
  readonly selected: boolean
}

/** What each driver says of this host. */
export function reportRungs(probed: ProbedDriver[]): RungReport[] {
  const demand = { rung: undefined, atLeast: undefined, hostTemplate: true }
  const chosen = probed.some(({ probe }) => probe.available) ? selectDriver(probed, demand).driver : null
  return probed.map(({ driver, probe }) => ({
    rung: driver.rung,
    driver: driver.name,
    probe,
    selected: driver === chosen,
  }))
}
