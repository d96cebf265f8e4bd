import type { Selectable } from 'kysely'
import type { WebhooksTable } from '../database/tables.ts'

/** All that is told of a webhook. Its secret is for signatures alone. */
export interface Webhook {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly url: string
  /** Types of events, in the words of whoever delivers them. */
  readonly events: readonly string[]
  readonly enabled: boolean
  readonly createdAt: number
  readonly updatedAt: number
  /** Why the last delivery failed; null when it did not. */
  readonly failure: string | null
  readonly deliveredAt: number | null
}

export interface NewWebhook {
  readonly name: string
  readonly url: string
  readonly events: readonly string[]
  readonly enabled: boolean
  readonly secret: string
}

/** How far a webhook has been told, and what stands in the way. */
export interface WebhookProgress {
  /** Up to this event nothing is left to be told. */
  readonly told: number
  /** How often the next event was refused by an answer. */
  readonly refusals: number
  /** How many deliveries have failed since one succeeded. */
  readonly failures: number
  readonly failure: string | null
  readonly deliveredAt: number | null
  /** Not before this time. */
  readonly nextAt: number
}

/** One that is on, how far it is, and when it may be told more. */
export interface DueWebhook extends Pick<Webhook, 'id' | 'tenantId' | 'events'> {
  readonly told: number
  readonly nextAt: number
}

/** One that this owner alone tells things until the lease ends. */
export interface ClaimedWebhook extends Webhook {
  readonly owner: string
  readonly secret: string
  readonly progress: WebhookProgress
}

export function decodeWebhook(row: Selectable<WebhooksTable>): Webhook {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    url: row.url,
    events: JSON.parse(row.events) as string[],
    enabled: row.enabled === 1,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    failure: row.failure,
    deliveredAt: row.delivered_at,
  }
}

export function decodeProgress(row: Selectable<WebhooksTable>): WebhookProgress {
  const { told, refusals, failures, failure, delivered_at: deliveredAt, next_at: nextAt } = row
  return { told, refusals, failures, failure, deliveredAt, nextAt }
}
