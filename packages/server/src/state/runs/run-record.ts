import type { Selectable } from 'kysely'
import {
  HearthError,
  type BudgetLimits,
  type RunId,
  type RunInfo,
  type RunMessage,
  type RunProgress,
} from '@hearth/contract'
import type { RunMessagesTable, RunsTable } from '../database/tables.ts'

/** What is said of a run when it begins, and never changes. */
export interface GivenRun {
  readonly task: string
  readonly model: string
  readonly budget: BudgetLimits
  readonly workspace: string | null
  readonly metadata: Readonly<Record<string, string>>
}

export interface NewRun extends GivenRun {
  /** Default: a new one. */
  readonly id?: RunId
  readonly parent: RunId | null
  readonly owner: string
  readonly leaseMs: number
}

export type RunRow = Selectable<RunsTable>

export function decodeRun(row: RunRow, now: number): RunInfo {
  const { lastAt: _lastAt, ...progress } = progressOfRow(row)
  const driven = row.owner !== null && row.lease_until > now
  return {
    id: row.id as RunId,
    ...(JSON.parse(row.given) as GivenRun),
    ...progress,
    parent: row.parent_id as RunId | null,
    driver: driven ? { owner: row.owner ?? '', until: new Date(row.lease_until) } : null,
    events: row.events,
    bytes: row.bytes,
    messages: row.messages,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  }
}

export function progressOfRow(row: RunRow): RunProgress {
  return JSON.parse(row.progress) as RunProgress
}

export function decodeMessage(row: Selectable<RunMessagesTable>): RunMessage {
  return { number: row.number, kind: row.kind, text: JSON.parse(row.text) as string, at: new Date(row.at) }
}

/** Also for one of another tenant. */
export function runNotFound(id: string): HearthError {
  return new HearthError('run_not_found', `there is no run ${id.slice(0, 64)}`)
}
