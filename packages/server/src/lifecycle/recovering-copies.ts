import { HearthError, type MergeRequest } from '@hearth/contract'
import { recoverVolume } from '../volumes/making-volumes.ts'
import { discardVolumes } from '../volumes/removing-volumes.ts'
import { ownVolumes } from '../volumes/fork-volumes.ts'
import { isAlive, type Operation } from '../state/index.ts'
import type { Context } from './context.ts'
import { finishFork, holdTurns, undoFork, type ForkOutcome } from './forking.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { finishMerge } from './merging.ts'
import { finishSnapshot, settleSnapshot, snapshotOf, undoSnapshot } from './snapshotting.ts'
import { trackWork } from './under-way.ts'

/** What has ended the server as often as this is not tried again. */
const ATTEMPTS = 3

type Recovery = (context: Context, live: LiveSandbox | null, operation: Operation) => Promise<Recovered>

/** When a recovery is given, all whom it concerns have their turn. */
interface Recovered {
  readonly finished: Promise<unknown>
}

/** Who sent a key will ask again and gets what it asked for; without one nobody knows of it, and it goes. A merge is done once more. */
export const COPY_RECOVERIES: Readonly<Record<string, Recovery>> = {
  fork: recoverFork,
  snapshot: recoverSnapshot,
  merge: recoverMerge,
  volume: (context, _live, operation) => recoverVolume(context, operation),
}

async function recoverFork(context: Context, parent: LiveSandbox | null, operation: Operation): Promise<Recovered> {
  const { children: ids } = operation.result as ForkOutcome
  const found = await Promise.all(ids.map((id) => context.store.sandboxes.find(id)))
  const records = found.filter((record) => record?.state === 'creating').filter((record) => record !== null)
  const children = records.map((record) => context.live.ensure(record))
  if (parent === null || !mayRepeat(parent, operation) || children.length < ids.length) {
    const turns = holdTurns(children)
    const undone = undoFork(context, children, operation, 'undone', serverEnded('forked'))
    return { finished: undone.finally(() => turns[Symbol.dispose]()) }
  }
  const work = parent.inTurn(async () => {
    // What was started may lack its limits and its policy: it is never taken over, but made anew.
    await Promise.all(children.map(({ record }) => context.hearth.discard(record.id)))
    for (const { record } of children) await discardVolumes(context, ownVolumes(record))
    context.step('recovery:discarded')
    return await finishFork(context, parent, { operation, children }, [])
  })
  return { finished: trackWork(context, operation, work) }
}

async function recoverSnapshot(context: Context, live: LiveSandbox | null, operation: Operation): Promise<Recovered> {
  const id = snapshotOf(operation)
  const undo = (): Promise<void> => undoSnapshot(context, operation, 'undone', serverEnded('captured'))
  if (operation.idempotencyKey === null) return { finished: undo() }
  const info = await context.hearth.snapshots.get(id).catch((error: unknown) => {
    if (HearthError.isInstance(error) && error.code === 'snapshot_not_found') return null
    throw error
  })
  if (info !== null) return { finished: settleSnapshot(context, operation, info) }
  if (live === null || !mayRepeat(live, operation)) return { finished: undo() }
  return {
    finished: trackWork(
      context,
      operation,
      live.inTurn(() => finishSnapshot(context, live, operation, null)),
    ),
  }
}

async function recoverMerge(context: Context, parent: LiveSandbox | null, operation: Operation): Promise<Recovered> {
  const record = await context.store.sandboxes.find((operation.request as MergeRequest).child)
  if (parent === null || record === null || !isAlive(record.state) || operation.attempts > ATTEMPTS + 1) {
    const error = serverEnded('merged').toJSON()
    return { finished: context.store.operations.finish(operation, 'undone', { error }) }
  }
  const child = context.live.ensure(record)
  return {
    finished: parent.inTurn(() => child.inTurn(() => finishMerge(context, parent, child, operation, []))),
  }
}

function mayRepeat(live: LiveSandbox, operation: Operation): boolean {
  return isAlive(live.record.state) && operation.idempotencyKey !== null && operation.attempts <= ATTEMPTS
}

function serverEnded(what: string): HearthError {
  return new HearthError('internal', `the server ended while the sandbox was ${what}`)
}
