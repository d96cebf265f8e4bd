import { createHash } from 'node:crypto'
import type { Selectable } from 'kysely'
import { canonicalJson, type SandboxId } from '@hearth/contract'
import type { OperationsTable } from '../database/tables.ts'

export type OperationState = OperationsTable['state']

/** How an operation ended: it did what it was asked, it could not and left things as they are, or it took back what it had done. */
export type OperationEnd = 'done' | 'failed' | 'undone'

/** One long piece of work, written down so that a killed server finishes or undoes it. */
export interface Operation {
  readonly id: string
  readonly tenantId: string
  readonly sandboxId: SandboxId | null
  /** `create`, `pause`, `resume`, `stop`, `delete`, `fork` and the like. */
  readonly kind: string
  readonly state: OperationState
  readonly owner: string | null
  readonly leaseUntil: number | null
  /** Counts the claims. It fences too: a holder whose operation was claimed anew can no longer write to it. */
  readonly attempts: number
  /** The last durable step, as `stepText` writes it; null before the first. */
  readonly step: string | null
  readonly idempotencyKey: string | null
  readonly request: unknown
  /** What is known so far while it runs, the answer when it is done. */
  readonly result: unknown
  readonly error: unknown
  readonly createdAt: number
  readonly updatedAt: number
}

/** Proof of a claim: what `renew`, `recordStep`, `release` and `finish` ask for. Every operation that `claim` gives is one. */
export type Lease = Pick<Operation, 'id' | 'owner' | 'attempts'>

/** `launch:before` or `launch:after`. */
export function stepText(name: string, phase: 'before' | 'after'): string {
  return `${name}:${phase}`
}

/** The same for requests that mean the same: the order of keys does not count. */
export function hashRequest(request: unknown): string {
  return createHash('sha256').update(canonicalJson(request)).digest('hex')
}

export function decodeOperation(row: Selectable<OperationsTable>): Operation {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    sandboxId: row.sandbox_id as SandboxId | null,
    kind: row.kind,
    state: row.state,
    owner: row.owner,
    leaseUntil: row.lease_until,
    attempts: row.attempts,
    step: row.step,
    idempotencyKey: row.idempotency_key,
    request: JSON.parse(row.request),
    result: row.result === null ? null : JSON.parse(row.result),
    error: row.error === null ? null : JSON.parse(row.error),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
