import type { MemoryMode } from '@hearth/sdk'
import { interruptible } from '../interruptible.ts'
import { withoutUndefined } from '../options/sandbox-options.ts'
import { invocation } from '../output/invocation.ts'
import { presentList, presentOne } from '../output/present.ts'
import { Progress } from '../output/progress.ts'
import { snapshotFacts, snapshotRow, snapshotView } from '../output/snapshot-view.ts'
import { table } from '../output/table.ts'
import { eachNamed } from '../server/each-named.ts'
import { findSandbox } from '../server/find-sandbox.ts'
import { findSnapshot } from '../server/find-snapshot.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export interface SnapshotOptions extends ServerOptions {
  readonly name?: string
  readonly memory?: MemoryMode
  readonly meta?: Readonly<Record<string, string>>
}

/** Captures a sandbox as it is now; it goes on. */
export async function createSnapshot(sandboxName: string, options: SnapshotOptions): Promise<number> {
  return await interruptible(
    async (signal) => {
      const taken = await withServer(options, async (hearth) => {
        using progress = new Progress(options.quiet === true || !process.stderr.isTTY)
        progress.say('taking a snapshot')
        const sandbox = await findSandbox(hearth, sandboxName, signal)
        const { name, memory, meta: metadata } = options
        return await sandbox.snapshot({ ...withoutUndefined({ name, memory, metadata }), signal })
      })
      await presentOne(options, { id: taken.id, json: taken, people: () => snapshotRow(taken) })
      return 0
    },
    // The server does what it was asked for, whoever waits for it.
    () => process.stderr.write(`hearth: it may be made all the same; \`${invocation()} snapshot ls\` shows it\n`),
  )
}

export async function listSnapshots(options: ServerOptions): Promise<number> {
  const snapshots = await withServer(options, async (hearth) => await hearth.snapshots.list())
  await presentList(options, snapshots.toReversed(), snapshotView)
  return 0
}

export async function getSnapshot(name: string, options: ServerOptions): Promise<number> {
  const snapshot = await withServer(options, async (hearth) => await findSnapshot(hearth, name))
  await presentOne(options, { id: snapshot.id, json: snapshot, people: () => table(snapshotFacts(snapshot)) })
  return 0
}

export async function removeSnapshots(names: readonly string[], options: ServerOptions): Promise<number> {
  return await eachNamed(names, options, null, async (hearth, name) => {
    const { id } = await findSnapshot(hearth, name)
    await hearth.snapshots.remove(id)
    return { id, removed: true }
  })
}
