import type { SandboxRecord } from '../state/index.ts'
import type { Context } from './context.ts'
import { deleteSandbox } from './removing.ts'

/** Ends what was made with delegated keys that do not work any more, those of sandboxes that have ended among them. */
export async function endOrphans(context: Context): Promise<void> {
  const { store, hostId, live } = context
  await store.apiKeys.revokeBound()
  const orphans = await store.sandboxes.orphans(hostId)
  await Promise.all(
    orphans.map(async (record) => {
      const orphan = live.ensure(record)
      orphan.abandoned.abort()
      await orphan
        .inTurn(() => deleteSandbox(context, orphan, 'grant'))
        // The next round tries again.
        .catch((error: unknown) => context.report(`ending ${record.id} with its key`, error))
    }),
  )
}

/** Ends what a sandbox that has ended made with a key of its own. Never in the turn of a sandbox: this takes the turns of others. */
export async function endMadeBy(context: Context, { spec }: Pick<SandboxRecord, 'spec'>): Promise<void> {
  if (spec.delegate !== undefined) await endOrphans(context)
}
