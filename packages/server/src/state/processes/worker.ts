import { writeSync } from 'node:fs'
import { DEFAULT_LIMITS } from '@hearth/contract'
import { openStore, type Store } from '../index.ts'

/** A process of its own for the tests: `worker.ts write|claim URL NAME`. Each line on its output is an identifier, after its commit. */
const [mode, url, name = 'worker'] = process.argv.slice(2)
if (url === undefined) throw new Error('usage: worker.ts write|claim URL NAME')

const store = await openStore({ url })
await (mode === 'write' ? write(store) : claim(store))
await store.close()

/** Three rows in three tables, for ever. */
async function write(target: Store): Promise<never> {
  const tenantId = (await target.tenants.findByName('crash'))?.id ?? ''
  for (;;) {
    const { id } = await target.transaction(async (session) => {
      const record = await session.sandboxes.insert({
        tenantId,
        rung: 'process',
        driver: name,
        template: 'host',
        spec: {},
        limits: DEFAULT_LIMITS,
        metadata: { writer: name },
        expiresAt: Date.now() + 60_000,
      })
      await session.operations.begin({ tenantId, kind: 'create', sandboxId: record.id })
      await session.events.append({ tenantId, sandboxId: record.id, type: 'sandbox.creating' })
      return record
    })
    writeSync(1, `${id}\n`)
  }
}

/** Claims and finishes until nothing is left. */
async function claim({ operations }: Store): Promise<void> {
  for (;;) {
    const [operation] = await operations.claim({ owner: name, leaseMs: 60_000 })
    if (operation === undefined) return
    await operations.finish(operation, 'done')
    writeSync(1, `${operation.id}\n`)
  }
}
