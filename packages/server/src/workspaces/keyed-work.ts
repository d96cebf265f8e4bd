import type { KeyedCall } from '../control-plane.ts'
import { failure } from '../lifecycle/pausing.ts'
import { outcomeOf, unlessAborted } from '../lifecycle/replaying.ts'
import { trackWork } from '../lifecycle/under-way.ts'
import type { Operation } from '../state/index.ts'
import { underLease } from '../lifecycle/lease.ts'
import type { WorkspaceContext } from './workspace-context.ts'

/** What was asked for, as it is done again in another life of the server. */
export interface KeyedRequest {
  readonly tenantId: string
  readonly kind: string
  readonly request: Readonly<Record<string, unknown>>
}

/**
 * Work that is harmless to repeat. With a key it is done once for all who come with that key, and goes on when its caller has gone; without one
 * it is given up with the call.
 */
export async function keyedWork<T>(
  context: WorkspaceContext,
  asked: KeyedRequest,
  { idempotencyKey, signal }: KeyedCall,
  work: (signal?: AbortSignal) => Promise<T>,
): Promise<T> {
  if (idempotencyKey === null) return await work(signal)
  const { tenantId, kind } = asked
  const { operation, created } = await context.store.operations.begin({
    tenantId,
    kind,
    request: { ...asked.request, host: context.hostId },
    idempotencyKey,
    claim: { owner: context.hostId, leaseMs: context.leaseMs },
  })
  if (created) void trackWork(context, operation, finishWork(context, operation, work)).catch(() => undefined)
  return (await unlessAborted(outcomeOf(context, operation, signal), signal)).result as T
}

/** Writes down how it ended, for those who come with the same key. */
export async function finishWork<T>(
  context: WorkspaceContext,
  operation: Operation,
  work: (signal?: AbortSignal) => Promise<T>,
): Promise<void> {
  try {
    const result = await underLease(context, operation, (lost) => work(lost))
    await context.store.operations.finish(operation, 'done', { result })
  } catch (error) {
    await context.store.operations.finish(operation, 'failed', { error: failure(error) })
  }
}
