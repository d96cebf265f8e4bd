import type { Insertable, Updateable } from 'kysely'
import { HearthError, type SandboxId } from '@hearth/contract'
import { inBatches, type Database, type Sources } from '../database/database.ts'
import type { OperationsTable } from '../database/tables.ts'
import { claimOperations, type ClaimOptions } from './claim.ts'
import {
  decodeOperation,
  hashRequest,
  stepText,
  type Lease,
  type Operation,
  type OperationEnd,
} from './operation-record.ts'

export interface NewOperation {
  readonly tenantId: string
  readonly kind: string
  readonly sandboxId?: SandboxId | null
  readonly request?: unknown
  readonly idempotencyKey?: string | null
  /** Claims it in the same statement: the usual case, where the server that takes the request does the work. */
  readonly claim?: { readonly owner: string; readonly leaseMs: number }
}

export interface Begun {
  readonly operation: Operation
  /** False when the idempotency key was used before for the same request: `operation` is that earlier one, whatever its state. */
  readonly created: boolean
}

const FINISHED = ['done', 'failed', 'undone'] as const

export class OperationRepository {
  readonly #database: Database
  readonly #sources: Sources

  constructor(database: Database, sources: Sources) {
    this.#database = database
    this.#sources = sources
  }

  /** Writes an operation down. `idempotency_conflict` when the tenant used the key for another request of this kind. */
  async begin(input: NewOperation): Promise<Begun> {
    const values = this.#encode(input)
    const row = await this.#database.query
      .insertInto('operations')
      .values(values)
      .onConflict((conflict) => conflict.columns(['tenant_id', 'kind', 'idempotency_key']).doNothing())
      .returningAll()
      .executeTakeFirst()
    if (row !== undefined) return { operation: decodeOperation(row), created: true }
    return { operation: await this.#earlier(values), created: false }
  }

  #encode(input: NewOperation): Insertable<OperationsTable> & { request_hash: string } {
    const now = this.#sources.now()
    const { claim } = input
    return {
      id: this.#sources.newId('op'),
      tenant_id: input.tenantId,
      sandbox_id: input.sandboxId ?? null,
      kind: input.kind,
      state: claim === undefined ? 'pending' : 'running',
      owner: claim?.owner ?? null,
      lease_until: claim === undefined ? null : now + claim.leaseMs,
      attempts: claim === undefined ? 0 : 1,
      step: null,
      idempotency_key: input.idempotencyKey ?? null,
      request_hash: hashRequest(input.request),
      request: JSON.stringify(input.request ?? null),
      result: null,
      error: null,
      created_at: now,
      updated_at: now,
    }
  }

  async #earlier(values: Insertable<OperationsTable>): Promise<Operation> {
    const { tenant_id, kind, idempotency_key, request_hash } = values
    const row = await this.#database.query
      .selectFrom('operations')
      .selectAll()
      .where('tenant_id', '=', tenant_id)
      .where('kind', '=', kind)
      .where('idempotency_key', '=', idempotency_key ?? null)
      .executeTakeFirst()
    const context = { kind, idempotencyKey: idempotency_key }
    if (row === undefined) throw new HearthError('conflict', 'the idempotency key expired just now', { context })
    if (row.request_hash !== request_hash) {
      throw new HearthError('idempotency_conflict', `this key belongs to another ${kind} request`, { context })
    }
    return decodeOperation(row)
  }

  /** `not_found` when there is none, or when it is another tenant's. */
  async get(id: string, tenantId?: string): Promise<Operation> {
    const query = this.#database.query.selectFrom('operations').selectAll().where('id', '=', id)
    const row = await query.executeTakeFirst()
    if (row === undefined || (tenantId !== undefined && row.tenant_id !== tenantId)) {
      throw new HearthError('not_found', `there is no operation ${id}`, { context: { operation: id } })
    }
    return decodeOperation(row)
  }

  /** Those of one sandbox that have not ended, oldest first. */
  async unfinished(sandboxId: SandboxId): Promise<Operation[]> {
    const query = this.#database.query.selectFrom('operations').selectAll().where('sandbox_id', '=', sandboxId)
    const rows = await query.where('state', 'in', ['pending', 'running']).orderBy('created_at').orderBy('id').execute()
    return rows.map(decodeOperation)
  }

  /** Takes operations that nobody holds: pending ones, and running ones whose lease ran out. No two claims give the same one. */
  claim(options: ClaimOptions): Promise<Operation[]> {
    return claimOperations(this.#database, this.#sources.now(), options)
  }

  /** Running ones whose lease ran out, oldest first: their owner died or is stuck. `claim` takes them too. */
  async expired(limit: number): Promise<Operation[]> {
    const query = this.#database.query.selectFrom('operations').selectAll().where('state', '=', 'running')
    const rows = await query
      .where('lease_until', '<=', this.#sources.now())
      .orderBy('lease_until')
      .limit(limit)
      .execute()
    return rows.map(decodeOperation)
  }

  /** Holds it for this long from now. `conflict` when it was claimed by another since: stop the work at once. */
  renew(lease: Lease, leaseMs: number): Promise<Operation> {
    return this.#writeHeld(lease, { lease_until: this.#sources.now() + leaseMs })
  }

  /** Writes down that a durable step begins or has ended, and with `result` what is known since. */
  recordStep(lease: Lease, name: string, phase: 'before' | 'after', result?: unknown): Promise<Operation> {
    const known = result === undefined ? {} : { result: JSON.stringify(result) }
    return this.#writeHeld(lease, { step: stepText(name, phase), ...known })
  }

  /** Gives it back for another attempt, after `delayMs`. */
  release(lease: Lease, options: { readonly delayMs?: number; readonly error?: unknown } = {}): Promise<Operation> {
    const { delayMs = 0, error } = options
    return this.#writeHeld(lease, {
      state: 'pending',
      owner: null,
      lease_until: delayMs > 0 ? this.#sources.now() + delayMs : null,
      ...(error === undefined ? {} : { error: JSON.stringify(error) }),
    })
  }

  /** Ends it for good. `result` and `error` that are not given stay as they were. */
  finish(
    lease: Lease,
    state: OperationEnd,
    outcome: { readonly result?: unknown; readonly error?: unknown } = {},
  ): Promise<Operation> {
    const { result, error } = outcome
    return this.#writeHeld(lease, {
      state,
      owner: null,
      lease_until: null,
      ...(result === undefined ? {} : { result: JSON.stringify(result) }),
      ...(error === undefined ? {} : { error: JSON.stringify(error) }),
    })
  }

  async #writeHeld(lease: Lease, change: Updateable<OperationsTable>): Promise<Operation> {
    const row = await this.#database.query
      .updateTable('operations')
      .set({ ...change, updated_at: this.#sources.now() })
      .where('id', '=', lease.id)
      .where('state', '=', 'running')
      .where('owner', '=', lease.owner)
      .where('attempts', '=', lease.attempts)
      .returningAll()
      .executeTakeFirst()
    if (row !== undefined) return decodeOperation(row)
    const context = { operation: lease.id, owner: lease.owner, attempts: lease.attempts }
    throw new HearthError('conflict', `the lease of ${lease.id} is lost`, { context })
  }

  /** Gives back all that an owner holds, and answers how many: a server that starts calls it for its own dead predecessor. */
  async releaseOwner(owner: string): Promise<number> {
    const query = this.#database.query
      .updateTable('operations')
      .where('state', '=', 'running')
      .where('owner', '=', owner)
    const change = { state: 'pending', owner: null, lease_until: null, updated_at: this.#sources.now() } as const
    return Number((await query.set(change).executeTakeFirst()).numUpdatedRows)
  }

  /** Removes finished ones that have not changed since, and with them their idempotency keys. Answers how many. */
  async purge(finishedBefore: number): Promise<number> {
    return await inBatches(async (limit) => {
      const old = this.#database.query
        .selectFrom('operations')
        .select('id')
        .where('state', 'in', [...FINISHED])
        .where('updated_at', '<', finishedBefore)
        .limit(limit)
      return await this.#database.query.deleteFrom('operations').where('id', 'in', old).executeTakeFirst()
    })
  }
}
