import { HearthError, isAtLeast, RUNGS, type Rung } from '@hearth/contract'
import type { Driver, Probe } from './driver.ts'

export interface ProbedDriver {
  readonly driver: Driver
  readonly probe: Probe
}

type Available = { readonly driver: Driver; readonly probe: Extract<Probe, { available: true }> }

/** What a caller demands of the rung. */
export interface Demand {
  readonly rung: Rung | undefined
  readonly atLeast: Rung | undefined
  /** The template needs the host's own files, which not every rung can show. */
  readonly hostTemplate: boolean
}

/**
 * The strongest rung that works here and meets the demand. A weaker one than was asked for is never chosen: the error
 * says of each rung that would have done why it does not work here.
 */
export function selectDriver(probed: readonly ProbedDriver[], demand: Demand): Available {
  const wanted = (rung: Rung): boolean =>
    (demand.rung === undefined || rung === demand.rung) &&
    (demand.atLeast === undefined || isAtLeast(rung, demand.atLeast))
  const candidates = [...probed]
    .filter(({ driver }) => wanted(driver.rung))
    .sort((one, other) => RUNGS.indexOf(other.driver.rung) - RUNGS.indexOf(one.driver.rung))
  const usable = candidates.filter((entry): entry is Available => entry.probe.available)
  const named = demand.rung !== undefined || demand.atLeast !== undefined
  const chosen =
    usable.find(({ probe }) => probe.automatic && (!demand.hostTemplate || probe.capabilities.hostTemplate)) ??
    (named ? usable[0] : usable.find(({ probe }) => probe.automatic))
  if (chosen !== undefined) return chosen
  throw new HearthError('rung_unavailable', refusal(candidates, demand), {
    context: { rung: demand.rung, atLeast: demand.atLeast, reasons: reasons(candidates) },
  })
}

function reasons(candidates: readonly ProbedDriver[]): Record<string, string> {
  return Object.fromEntries(
    candidates.flatMap(({ driver, probe }) =>
      probe.available ? [] : [[`${driver.rung} (${driver.name})`, probe.reason]],
    ),
  )
}

function refusal(candidates: readonly ProbedDriver[], demand: Demand): string {
  const asked =
    demand.rung !== undefined
      ? `rung ${demand.rung}`
      : demand.atLeast !== undefined
        ? `at least ${demand.atLeast}`
        : 'a sandbox'
  if (demand.rung !== undefined && demand.atLeast !== undefined && !isAtLeast(demand.rung, demand.atLeast)) {
    return `rung ${demand.rung} is weaker than at least ${demand.atLeast}`
  }
  const list = Object.entries(reasons(candidates)).map(([name, reason]) => `${name}: ${reason}`)
  return `${asked} was asked for, and nothing here gives that: ${list.join('; ')}`
}
