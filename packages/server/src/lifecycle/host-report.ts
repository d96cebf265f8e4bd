import type { HostReport } from '../control-plane.ts'
import type { Context } from './context.ts'
import type { Housekeeping } from './housekeeping.ts'
import type { LiveSandbox } from './live-sandbox.ts'

/** How this host does, from what is in memory. */
export function hostReport({ live, admission }: Context, { failures }: Housekeeping): HostReport {
  return {
    sandboxes: countByState(live),
    headroom: admission.headroom(),
    refusals: admission.refusals,
    failedRounds: failures,
  }
}

function countByState(live: Iterable<LiveSandbox>): HostReport['sandboxes'] {
  const counts = new Map<string, HostReport['sandboxes'][number]>()
  for (const { record } of live) {
    const { state, rung } = record
    const key = `${state} ${rung}`
    counts.set(key, { state, rung, count: (counts.get(key)?.count ?? 0) + 1 })
  }
  return [...counts.values()]
}
