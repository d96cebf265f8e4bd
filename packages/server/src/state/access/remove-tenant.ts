import { HearthError } from '@hearth/contract'
import { atomically, inBatches, type Database } from '../database/database.ts'
import { ALIVE_STATES } from '../lifecycle.ts'

/** What a tenant may still hold on a host. */
const HELD = ['sandboxes', 'snapshots', 'volumes', 'workspaces', 'repositories'] as const
/** Rows that are nothing without their tenant, in an order in which none refers to one that has gone. */
const OWN = [
  'webhooks',
  'template_builds',
  'run_messages',
  'run_events',
  'run_labels',
  'runs',
  'secrets',
  'ssh_host_keys',
  'operations',
  'sandboxes',
  'api_keys',
] as const
/** There may be very many of them, and nothing refers to them. */
const TOLD = ['events', 'event_chains', 'event_drops'] as const

/** Removes a tenant with its keys, secrets, runs and events; `conflict` while it holds anything on a host. */
export async function removeTenant(
  database: Database,
  id: string,
  lock: (inside: Database) => Promise<unknown>,
): Promise<void> {
  await atomically(database, async (inside) => {
    // Whatever is made for it takes this lock first, and then finds no tenant.
    await lock(inside)
    const held = await heldBy(inside, id)
    if (held.length > 0) {
      throw new HearthError('conflict', `the tenant still has ${held.join(', ')}`, {
        context: { tenant: id },
        suggestion: 'Remove them with a key of that tenant first.',
      })
    }
    for (const table of OWN) await inside.query.deleteFrom(table).where('tenant_id', '=', id).execute()
    await inside.query.deleteFrom('tenants').where('id', '=', id).execute()
  })
  for (const table of TOLD) await removeTold(database, table, id)
}

/** For example `2 sandboxes`. */
async function heldBy({ query }: Database, id: string): Promise<string[]> {
  const held: string[] = []
  for (const table of HELD) {
    let counting = query
      .selectFrom(table)
      .select(({ fn }) => fn.countAll().as('count'))
      .where('tenant_id', '=', id)
    if (table === 'sandboxes') counting = counting.where('state', 'in', [...ALIVE_STATES])
    const { count } = await counting.executeTakeFirstOrThrow()
    if (Number(count) > 0) held.push(`${Number(count)} ${table}`)
  }
  return held
}

async function removeTold({ query }: Database, table: (typeof TOLD)[number], id: string): Promise<void> {
  if (table !== 'events') return void (await query.deleteFrom(table).where('tenant_id', '=', id).execute())
  await inBatches(async (limit) => {
    const some = query.selectFrom('events').select('seq').where('tenant_id', '=', id).limit(limit)
    return await query.deleteFrom('events').where('seq', 'in', some).executeTakeFirst()
  })
}
