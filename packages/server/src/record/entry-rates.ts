import type { RecordEntry } from '@hearth/contract'
import { TokenBuckets } from '../http/access/token-bucket.ts'

type Kind = RecordEntry['kind']
type Group = 'traffic' | 'refusals' | 'files' | 'processes'

/** What a guest causes, other than what the caller does. Each group has rates of its own, so that a flood of one hides nothing of another. */
const GROUPS: Partial<Record<Kind, Group>> = {
  opened: 'traffic',
  progress: 'traffic',
  connection: 'traffic',
  request: 'traffic',
  refusal: 'refusals',
  file: 'files',
  process: 'processes',
  'process-exit': 'processes',
}

/** Of what is kept of a sandbox, what each group may fill at once and then again within an hour. Together they are less than the whole. */
const SHARES: Readonly<Record<Group, number>> = { traffic: 0.4, refusals: 0.1, files: 0.2, processes: 0.2 }
const HOUR_SECONDS = 3600

export interface EntryRateOptions {
  readonly perSecond: number
  readonly burst: number
  /** Entries of a sandbox that are kept. */
  readonly keep: number
}

/** How much of each kind the guest of a sandbox may put into its record. */
export class EntryRates {
  readonly #short: Readonly<Record<Group, TokenBuckets>>
  readonly #long: Readonly<Record<Group, TokenBuckets>>

  constructor({ perSecond, burst, keep }: EntryRateOptions) {
    const each = (make: (share: number) => TokenBuckets): Record<Group, TokenBuckets> => ({
      traffic: make(SHARES.traffic),
      refusals: make(SHARES.refusals),
      files: make(SHARES.files),
      processes: make(SHARES.processes),
    })
    this.#short = each(() => new TokenBuckets(perSecond, burst))
    this.#long = each((share) => new TokenBuckets((keep * share) / HOUR_SECONDS, Math.ceil(keep * share)))
  }

  /** Counts an entry in; false when it is one too many. */
  admits(sandbox: string, kind: Kind): boolean {
    const group = GROUPS[kind]
    if (group === undefined) return true
    return this.#short[group].take(sandbox) === 0 && this.#long[group].take(sandbox) === 0
  }
}
