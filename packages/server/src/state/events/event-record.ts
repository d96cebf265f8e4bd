import type { Selectable } from 'kysely'
import type { EventView } from '@hearth/contract'
import type { EventsTable } from '../database/tables.ts'

/** Something that happened, told in the same transaction as the change itself. */
export interface StoredEvent {
  /** Counts up over the whole store, in the order of commits: who has read up to one never misses an earlier one. */
  readonly seq: number
  readonly tenantId: string
  readonly sandboxId: string | null
  readonly at: number
  /** For example `sandbox.running`. */
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
  /** Of this event and all before it of its sandbox. Null without a sandbox. */
  readonly hash: string | null
}

export interface NewEvent {
  readonly tenantId: string
  readonly sandboxId?: string | null
  /** Default: now. */
  readonly at?: number
  readonly type: string
  readonly data?: Readonly<Record<string, unknown>>
}

/** All that are given must hold. */
export interface EventFilter {
  readonly tenantId?: string
  readonly sandboxId?: string
  readonly types?: readonly string[]
}

export interface EventPage {
  /** In the order of `seq`. */
  readonly events: readonly StoredEvent[]
  /** Where the next page begins: pass it as `after`. */
  readonly next: number
  /** Set when retention took events after the asked position: up to `through` some are missing. `count` is the total ever dropped. */
  readonly dropped: { readonly through: number; readonly count: number } | null
}

export function decodeEvent(row: Selectable<EventsTable>): StoredEvent {
  return {
    seq: row.seq,
    tenantId: row.tenant_id,
    sandboxId: row.sandbox_id,
    at: row.at,
    type: row.type,
    data: JSON.parse(row.data) as Record<string, unknown>,
    hash: row.hash,
  }
}

/** A row as everybody outside sees it, and as it is hashed. */
export function eventView(row: Selectable<EventsTable>): EventView {
  return publicView(decodeEvent(row))
}

export function publicView({ seq, at, sandboxId, type, data, hash }: StoredEvent): EventView {
  return { seq, at: new Date(at).toISOString(), sandbox: sandboxId, type, data, hash }
}
