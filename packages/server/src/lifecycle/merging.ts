import { HearthError, type MergeRequest, type MergeResult } from '@hearth/contract'
import type { Operation } from '../state/index.ts'
import type { Context } from './context.ts'
import { underLease } from './lease.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { failure } from './pausing.ts'
import { eventOf } from './transitions.ts'
import { wakeInTurn } from './waking.ts'

/** Both are as they are until it has ended. Always the parent first, so that no two wait for each other. */
export async function mergeInTurn(
  context: Context,
  parent: LiveSandbox,
  child: LiveSandbox,
  request: Pick<MergeRequest, 'paths'>,
  signal: AbortSignal,
): Promise<MergeResult> {
  requireChild(parent, child)
  return await parent.inTurn(() =>
    child.inTurn(async () => {
      const { tenantId, id: sandboxId } = parent.record
      const claim = { owner: context.hostId, leaseMs: context.leaseMs }
      const asked = { ...request, child: child.record.id }
      const { operation } = await context.store.operations.begin({
        tenantId,
        kind: 'merge',
        sandboxId,
        request: asked,
        claim,
      })
      return await finishMerge(context, parent, child, operation, [signal])
    }),
  )
}

/**
 * The guest applies all of it or nothing, and what is there already is no change: after a crash it is done once more. Called in the turns of
 * both.
 */
export async function finishMerge(
  context: Context,
  parent: LiveSandbox,
  child: LiveSandbox,
  operation: Operation,
  signals: readonly AbortSignal[],
): Promise<MergeResult> {
  const { paths } = operation.request as MergeRequest
  const abandoned = [parent, child].map((live) => live.abandoned.signal)
  try {
    return await underLease(context, operation, async (lost) => {
      context.step('merge:begun')
      const into = await wakeInTurn(context, parent)
      const from = await wakeInTurn(context, child)
      const signal = AbortSignal.any([lost, ...abandoned, ...signals])
      const result = await into.merge(from, { signal, ...(paths === undefined ? {} : { paths }) })
      context.step('merge:applied')
      const { applied, conflicts } = result
      const data = { child: child.record.id, applied: applied.length, conflicts: conflicts.length }
      await context.store.transaction(async (session) => {
        await session.operations.finish(operation, 'done', { result: data })
        await session.events.append(eventOf(parent.record, 'sandbox.merged', { operation: operation.id, ...data }))
      })
      context.step('merge:done')
      return result
    })
  } catch (error) {
    await context.store.operations
      .finish(operation, 'failed', { error: failure(error) })
      // The lease runs out, and recovery sees to it.
      .catch((finishing: unknown) => context.report(`the end of ${operation.id}`, finishing))
    throw error
  }
}

function requireChild(parent: LiveSandbox, child: LiveSandbox): void {
  if (child.record.parentId === parent.record.id) return
  throw new HearthError('invalid_request', `${child.record.id} is no fork of ${parent.record.id}`, {
    suggestion: 'Only a direct child can be merged: merge a grandchild into its own parent first.',
  })
}
