import type { DialectName } from './database/database.ts'
import type { StoreSession } from './session.ts'

/** The durable state of one control plane. Any number of processes may have the same database open. */
export interface Store extends StoreSession, AsyncDisposable {
  readonly dialect: DialectName
  /**
   * All of it or nothing. Inside, use the session that is given and nothing else of this store: a call on the store itself would
   * wait for the transaction that waits for it, and is refused. Do no other work than that of the database in it: on SQLite
   * every other caller waits until it ends.
   *
   * A change and the event that tells it belong in one transaction:
   * ```ts
   * const paused = await store.transaction(async (session) => {
   *   const record = await session.sandboxes.transition(pausing, 'paused')
   *   await session.operations.finish(lease, 'done')
   *   await session.events.append({ tenantId: record.tenantId, sandboxId: record.id, type: 'sandbox.paused' })
   *   return record
   * })
   * ```
   */
  transaction<T>(work: (session: StoreSession) => Promise<T>): Promise<T>
  /** Resolves when the database answers: for readiness. */
  ping(): Promise<void>
  /** Ends all connections. Idempotent. Those who follow events come to their end. */
  close(): Promise<void>
}
