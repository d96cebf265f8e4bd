import { budgetOf, type BestOfOptions, type Prices } from '@hearth/agent'
import { newId, type RunId } from '@hearth/contract'
import type { Hearth } from '@hearth/sdk'
import { ownerName } from '../../agent/kept-on-server.ts'
import { budgetOptions, type BudgetOptions } from '../agent.ts'

interface AttemptOptions extends BudgetOptions {
  readonly meta?: Readonly<Record<string, string>>
  readonly price?: Prices
}

/** Attempts whose runs the server keeps, all with the same label: each can be watched, steered and stopped while it is worked on, and read later. */
export function keeping(hearth: Hearth, task: string, options: AttemptOptions): NonNullable<BestOfOptions['keep']> {
  const search = newId('search')
  const limits = budgetOptions(options)
  return async ({ name, model, parent }) => {
    const { lease } = await hearth.runs.create({
      id: newId('run') as RunId,
      task,
      model,
      budget: budgetOf(limits, model, options.price ?? {}),
      parent: parent as RunId | null,
      metadata: { ...options.meta, search, attempt: name },
      owner: ownerName(),
    })
    return { keeper: hearth.runs, lease }
  }
}
