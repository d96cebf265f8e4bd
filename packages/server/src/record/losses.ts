import type { SandboxId } from '@hearth/contract'
import type { NewEvent } from '../state/index.ts'

/** More than a sandbox may cause, more than can wait, or what happened to files or processes while that could not be followed. */
export type LossReason = 'rate' | 'memory' | 'watch'

/** Places that one loss names; what goes elsewhere is counted as `others`. */
const MOST_PLACES = 64

interface Loss {
  readonly sandbox: SandboxId
  readonly reason: LossReason
  readonly kinds: Record<string, number>
  /** Where traffic went that is not in the record piece by piece. */
  readonly places: Record<string, number>
  event(): { readonly sandbox: SandboxId; readonly event: Omit<NewEvent, 'tenantId'> }
}

/** What could not be kept, until the record says so. */
export class Losses {
  #bySandbox = new Map<string, Loss>()

  get any(): boolean {
    return this.#bySandbox.size > 0
  }

  add(sandbox: SandboxId, reason: LossReason, kind: string, count = 1, where: string | null = null): void {
    const key = `${sandbox} ${reason}`
    const loss = this.#bySandbox.get(key) ?? newLoss(sandbox, reason)
    this.#bySandbox.set(key, loss)
    loss.kinds[kind] = (loss.kinds[kind] ?? 0) + count
    if (where !== null) addPlace(loss, where, count)
  }

  take(): readonly Loss[] {
    const taken = [...this.#bySandbox.values()]
    this.#bySandbox = new Map()
    return taken
  }

  putBack(losses: readonly Loss[]): void {
    for (const { sandbox, reason, kinds, places } of losses) {
      for (const [kind, count] of Object.entries(kinds)) this.add(sandbox, reason, kind, count)
      const loss = this.#bySandbox.get(`${sandbox} ${reason}`)
      if (loss !== undefined) for (const [where, count] of Object.entries(places)) addPlace(loss, where, count)
    }
  }
}

function addPlace({ places }: Loss, where: string, count: number): void {
  const name = where in places || Object.keys(places).length < MOST_PLACES ? where : 'others'
  places[name] = (places[name] ?? 0) + count
}

function newLoss(sandbox: SandboxId, reason: LossReason): Loss {
  const kinds: Record<string, number> = {}
  const places: Record<string, number> = {}
  return {
    sandbox,
    reason,
    kinds,
    places,
    event: () => {
      const count = Object.values(kinds).reduce((sum, some) => sum + some, 0)
      const data = { count, reason, kinds, ...(Object.keys(places).length === 0 ? {} : { places }) }
      return { sandbox, event: { sandboxId: sandbox, type: 'record.dropped', data } }
    },
  }
}
