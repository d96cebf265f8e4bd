import { HearthError, newSnapshotId, type SnapshotId, type SnapshotInfo, type SnapshotOptions } from '@hearth/contract'
import type { z } from 'zod'
import type { takeSnapshotSchema } from '@hearth/contract'
import { snapshotWithinQuota, type Operation } from '../state/index.ts'
import type { Context } from './context.ts'
import { requireResting } from './forking.ts'
import { underLease } from './lease.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { failure } from './pausing.ts'
import { givenUp } from './replaying.ts'
import { takeUp } from './taking-up.ts'

type Request = z.output<typeof takeSnapshotSchema>

export interface SnapshotBegun {
  readonly operation: Operation
  readonly created: boolean
}

/** Which snapshot an operation makes. */
export function snapshotOf(operation: Operation): SnapshotId {
  return (operation.result as { readonly snapshot: SnapshotId }).snapshot
}

/** Writes the operation and the row at once, within the quota. Called in turn. */
export async function beginSnapshot(
  context: Context,
  live: LiveSandbox,
  request: Request,
  idempotencyKey: string | null,
): Promise<SnapshotBegun> {
  requireResting(live.record)
  const { tenantId, id: sandboxId, limits } = live.record
  const { hostId, leaseMs } = context
  const bytes = limits.diskBytes + (request.memory === 'none' ? 0 : limits.memoryBytes)
  return await context.store.transaction(async (session) => {
    const { operation, created } = await session.operations.begin({
      tenantId,
      kind: 'snapshot',
      sandboxId,
      request: { sandbox: sandboxId, ...request },
      idempotencyKey,
      claim: { owner: hostId, leaseMs },
    })
    if (!created) return { operation, created }
    const id = newSnapshotId()
    const row = { id, tenantId, hostId, state: 'creating', name: request.name ?? null, sandboxId, bytes } as const
    await snapshotWithinQuota(session, row)
    return { operation: await session.operations.recordStep(operation, 'begin', 'after', { snapshot: id }), created }
  })
}

/**
 * Takes it and writes down that it is there; when it cannot be taken, or when nobody waits for it any more, nothing of it is left. Called in
 * turn.
 */
export async function finishSnapshot(
  context: Context,
  live: LiveSandbox,
  operation: Operation,
  signal: AbortSignal | null,
): Promise<Operation> {
  const id = snapshotOf(operation)
  const { memory, metadata } = operation.request as SnapshotOptions
  try {
    return await underLease(context, operation, async () => {
      context.step('snapshot:begun')
      const machine = await takeUp(context, live)
      const info = await machine.snapshot({
        id,
        ...(memory === undefined ? {} : { memory }),
        ...(metadata === undefined ? {} : { metadata }),
      })
      context.step('snapshot:taken')
      if (signal?.aborted === true) throw givenUp(signal)
      const done = await settleSnapshot(context, operation, info)
      context.step('snapshot:done')
      return done
    })
  } catch (error) {
    await undoSnapshot(context, operation, 'failed', error)
    throw error
  }
}

export async function settleSnapshot(context: Context, operation: Operation, info: SnapshotInfo): Promise<Operation> {
  const { tenantId, sandboxId } = operation
  return await context.store.transaction(async (session) => {
    const { id, name } = await session.snapshots.ready(snapshotOf(operation), info)
    const data = { operation: operation.id, snapshot: id, name, memory: info.memory }
    await session.events.append({ tenantId, sandboxId, type: 'snapshot.created', data })
    return await session.operations.finish(operation, 'done')
  })
}

/** Takes everything back. */
export async function undoSnapshot(
  context: Context,
  operation: Operation,
  end: 'failed' | 'undone',
  error: unknown,
): Promise<void> {
  const id = snapshotOf(operation)
  try {
    await removeFromHost(context, id)
    await context.store.transaction(async (session) => {
      await session.snapshots.forget(id)
      await session.operations.finish(operation, end, { error: failure(error) })
    })
  } catch (undoing) {
    // The lease runs out, and recovery tries again.
    context.report(`undoing the snapshot ${id}`, undoing)
  }
}

/** Also when it is not there. */
export async function removeFromHost(context: Context, id: SnapshotId): Promise<void> {
  try {
    await context.hearth.snapshots.remove(id)
  } catch (error) {
    if (!HearthError.isInstance(error) || error.code !== 'snapshot_not_found') throw error
  }
}
