import { AsyncLocalStorage } from 'node:async_hooks'
import type {
  KyselyPlugin,
  PluginTransformQueryArgs,
  PluginTransformResultArgs,
  QueryResult,
  RootOperationNode,
  UnknownRow,
} from 'kysely'
import { HearthError } from '@hearth/contract'

interface Scope {
  open: boolean
}

/** Refuses a call on the store itself from inside a transaction, where on SQLite it would wait for ever. */
export class TransactionGuard implements KyselyPlugin {
  readonly #scopes = new AsyncLocalStorage<Scope>()

  async run<T>(work: () => Promise<T>): Promise<T> {
    this.assertOutside()
    const scope: Scope = { open: true }
    try {
      return await this.#scopes.run(scope, work)
    } finally {
      // What the work has started and not waited for may use the store from now on.
      scope.open = false
    }
  }

  assertOutside(): void {
    if (this.#scopes.getStore()?.open !== true) return
    throw new HearthError('internal', 'the store was used inside one of its transactions: use the session instead')
  }

  transformQuery(args: PluginTransformQueryArgs): RootOperationNode {
    this.assertOutside()
    return args.node
  }

  async transformResult(args: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return args.result
  }
}
