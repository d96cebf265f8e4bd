import { sql } from 'kysely'
import { grantExceeded, type Exceeded } from '@hearth/contract'
import type { ApiKeyRepository } from '../access/api-keys.ts'
import { isBelowPath, keysOf } from '../access/key-path.ts'
import type { Database } from '../database/database.ts'
import { ALIVE_STATES } from '../lifecycle.ts'

/** What the holder of a grant and all below it have together. */
export interface Holdings {
  /** Those that have not ended. */
  readonly sandboxes: number
  /** The lives of all that there ever were, added up: of one that has ended until then, of another until its deadline. */
  readonly wallTimeMs: number
}

export async function countHoldings(database: Database, path: string): Promise<Holdings> {
  const end = sql`case when ended_at is not null and ended_at < expires_at then ended_at else expires_at end`
  const row = await database.query
    .selectFrom('sandboxes')
    .where(isBelowPath('holder', path))
    .select(({ fn, eb }) => [
      fn
        .sum<number | null>(
          eb
            .case()
            .when('state', 'in', [...ALIVE_STATES])
            .then(1)
            .else(0)
            .end(),
        )
        .as('sandboxes'),
      sql<number | null>`sum(${end} - created_at)`.as('wallTimeMs'),
    ])
    .executeTakeFirstOrThrow()
  return { sandboxes: Number(row.sandboxes ?? 0), wallTimeMs: Number(row.wallTimeMs ?? 0) }
}

interface HoldingsSession {
  readonly apiKeys: Pick<ApiKeyRepository, 'holders'>
  readonly sandboxes: { holdings(path: string): Promise<Holdings> }
}

/**
 * Refuses with `grant_exceeded` when a holder, or anybody above it, has more than its grant allows, and with `unauthorized` when
 * one of their keys does not work any more. Only inside a transaction that holds the tenant's row: what it has just written is counted,
 * and taken back by the refusal.
 */
export async function requireHoldings(session: HoldingsSession, path: string): Promise<void> {
  const ids = keysOf(path)
  for (const [index, { grant }] of (await session.apiKeys.holders(path)).entries()) {
    if (grant === null) continue
    const held = await session.sandboxes.holdings(`${ids.slice(0, index + 1).join('/')}/`)
    const exceeded: Exceeded[] = []
    if (held.sandboxes > grant.children)
      exceeded.push({ field: 'children', asked: `${held.sandboxes} at one time`, allowed: `at most ${grant.children}` })
    const { wallTimeMs } = grant.budget
    if (wallTimeMs !== null && held.wallTimeMs > wallTimeMs) {
      const asked = `${held.wallTimeMs} ms in all`
      exceeded.push({ field: 'budget.wallTimeMs', asked, allowed: `at most ${wallTimeMs}` })
    }
    if (exceeded.length > 0) throw grantExceeded(exceeded)
  }
}
