import type { RecordEntry, SandboxId } from '@hearth/contract'

type RefusalEntry = Extract<RecordEntry, { kind: 'refusal' }>

export interface Repeated {
  readonly sandbox: SandboxId
  readonly entry: RefusalEntry
  readonly step: string | null
}

interface Counted extends Repeated {
  repeated: number
}

/** More are not compared. */
const MOST = 10_000

/** Equal refusals that follow each other closely: the first is an entry, the others are counted. */
export class RefusalCounts {
  #seen = new Map<string, Counted>()

  /** True when an equal one is in the record already, where it will be counted. */
  counts(sandbox: SandboxId, entry: RefusalEntry, step: string | null): boolean {
    const first = this.#seen.get(keyOf(sandbox, entry, step))
    if (first === undefined) return false
    first.repeated++
    return true
  }

  /** It is in the record: what is equal to it is counted from now on. */
  remember(sandbox: SandboxId, entry: RefusalEntry, step: string | null): void {
    if (this.#seen.size < MOST) this.#seen.set(keyOf(sandbox, entry, step), { sandbox, entry, step, repeated: 0 })
  }

  /** Those that were repeated, as entries with how often. All of them begin anew. */
  take(): Repeated[] {
    const seen = this.#seen
    this.#seen = new Map()
    return [...seen.values()]
      .filter(({ repeated }) => repeated > 0)
      .map(({ sandbox, entry, step, repeated }) => ({ sandbox, step, entry: { ...entry, repeated } }))
  }
}

function keyOf(
  sandbox: SandboxId,
  { process, name, port, refusal, message, method, path }: RefusalEntry,
  step: string | null,
): string {
  return JSON.stringify([sandbox, step, process, name, port, refusal, message, method, path])
}
