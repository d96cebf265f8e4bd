import { availableParallelism } from 'node:os'
import { BOUNDS, HearthError } from '@hearth/contract'
import { ChangeTracker } from '../changes/change-tracker.ts'
import { Attempts } from './attempts.ts'
import { chooseWinner } from './choose-winner.ts'
import { Court } from './court.ts'
import { Forks } from '../machines/forks.ts'
import { Leases } from '../machines/leases.ts'
import { Rounds } from './rounds.ts'
import type { Prefer, SearchOptions, SearchReport } from './search-types.ts'
import { Turns } from './turns.ts'

const CONCURRENCY = 8
const SHORTEST_LEASE_MS = 1000

/**
 * Tries several changes and keeps the best. Each is made in a fork of the base, and judged by execution in others, clean ones. "No winner"
 * is an honest answer. One that is stopped after the base was judged says what there is by then.
 */
export async function search(options: SearchOptions): Promise<SearchReport> {
  const { base, workdir, leaseMs = BOUNDS.searchLeaseMs, concurrency = CONCURRENCY } = options
  checkOptions(options)
  const from = performance.now()
  await using tracker = await ChangeTracker.open(null)
  using leases = new Leases(leaseMs)
  const forks = new Forks(base, leases)
  // Others may fork the base meanwhile, for which it stands still: nothing but forks of it is read.
  const commit = await forks.use(async (fork) => await tracker.begin(fork, workdir), options.signal)
  const attempts = new Attempts(options, tracker, commit, forks, leases)
  const court = new Court(options, forks, new Turns(options.judges ?? Math.max(2, availableParallelism())))
  options.onProgress?.({ type: 'judging_base' })
  const gate = await court.open()
  options.onProgress?.({ type: 'base', base: gate })
  const reports = await new Rounds(options, attempts, court, new Turns(concurrency)).run()
  const { winner, reason, preferences } = await chooseWinner(reports, gate, told(options))
  const stopped = options.signal?.aborted === true
  return {
    base: gate,
    candidates: reports,
    winner,
    reason: stopped ? `stopped before all was tried: ${reason}` : reason,
    stopped,
    preferences,
    spent: options.budget?.spent ?? null,
    wallTimeMs: Math.round(performance.now() - from),
  }
}

function told({ prefer, onProgress }: SearchOptions): Prefer | undefined {
  if (prefer === undefined) return undefined
  return async (first, second) => {
    onProgress?.({ type: 'comparing', first: first.name, second: second.name })
    return await prefer(first, second)
  }
}

function checkOptions({ candidates, more, wave, enough, confirmations, leaseMs }: SearchOptions): void {
  if ((candidates.length === 0 && more === undefined) || candidates.length > BOUNDS.searchCandidates) {
    throw new HearthError('invalid_request', `there must be 1 to ${BOUNDS.searchCandidates} candidates`)
  }
  for (const [name, value, least] of [
    ['wave', wave, 1],
    ['enough', enough === 'settled' ? undefined : enough, 1],
    ['confirmations', confirmations, 0],
    ['leaseMs', leaseMs, SHORTEST_LEASE_MS],
  ] as const) {
    if (value !== undefined && !(Number.isInteger(value) && value >= least)) {
      throw new HearthError('invalid_request', `${name} must be a whole number from ${least} on`)
    }
  }
}
