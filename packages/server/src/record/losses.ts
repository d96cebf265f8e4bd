import type { SandboxId } from '@hearth/contract'
import type { NewEvent } from '../state/index.ts'

/** More than a sandbox may cause, more than can wait, or what happened to files or processes while that could not be followed. */
export type LossReason = 'rate' | 'memory' | 'watch'

interface Loss {
  readonly sandbox: SandboxId
  readonly reason: LossReason
  readonly kinds: Record<string, number>
  event(): { readonly sandbox: SandboxId; readonly event: Omit<NewEvent, 'tenantId'> }
}

/** What could not be kept, until the record says so. */
export class Losses {
  #bySandbox = new Map<string, Loss>()

  get any(): boolean {
    return this.#bySandbox.size > 0
  }

  add(sandbox: SandboxId, reason: LossReason, kind: string, count = 1): void {
    const key = `${sandbox} ${reason}`
    const loss = this.#bySandbox.get(key) ?? newLoss(sandbox, reason)
    this.#bySandbox.set(key, loss)
    loss.kinds[kind] = (loss.kinds[kind] ?? 0) + count
  }

  take(): readonly Loss[] {
    const taken = [...this.#bySandbox.values()]
    this.#bySandbox = new Map()
    return taken
  }

  putBack(losses: readonly Loss[]): void {
    for (const { sandbox, reason, kinds } of losses) {
      for (const [kind, count] of Object.entries(kinds)) this.add(sandbox, reason, kind, count)
    }
  }
}

function newLoss(sandbox: SandboxId, reason: LossReason): Loss {
  const kinds: Record<string, number> = {}
  return {
    sandbox,
    reason,
    kinds,
    event: () => {
      const count = Object.values(kinds).reduce((sum, some) => sum + some, 0)
      return { sandbox, event: { sandboxId: sandbox, type: 'record.dropped', data: { count, reason, kinds } } }
    },
  }
}
