import { setTimeout as sleep } from 'node:timers/promises'
import { HearthError } from '@hearth/contract'
import type { Operation, SandboxRecord } from '../state/index.ts'
import type { Context } from './context.ts'
import { keptError } from './creating.ts'

/** How often an operation is looked at that another process works on. */
const LOOK_MS = 100

/** The outcome of a create that was begun before with the same key. */
export async function replayCreate(context: Context, earlier: Operation, signal: AbortSignal): Promise<SandboxRecord> {
  return await made(context, await outcomeOf(context, earlier, signal))
}

/** An operation that is done; waits for it where it is still under way, and throws what it kept when it failed. */
export async function outcomeOf(
  context: Pick<Context, 'store' | 'underWay'>,
  earlier: Operation,
  signal: AbortSignal,
): Promise<Operation> {
  let operation = earlier
  for (;;) {
    if (operation.state === 'done') return operation
    if (operation.state === 'failed' || operation.state === 'undone') throw keptError(operation)
    const here = context.underWay.get(operation.id)
    // How it ends is read from the operation, as for one that another process works on.
    if (here === undefined) await unlessAborted(sleep(LOOK_MS), signal)
    else
      await unlessAborted(
        here.catch(() => undefined),
        signal,
      )
    operation = await context.store.operations.get(operation.id, earlier.tenantId)
  }
}

async function made(context: Context, operation: Operation): Promise<SandboxRecord> {
  const { sandboxId, tenantId } = operation
  if (sandboxId === null) throw new HearthError('internal', `${operation.id} made no sandbox`)
  return context.live.get(sandboxId)?.record ?? (await context.store.sandboxes.get(sandboxId, tenantId))
}

export function givenUp(signal: AbortSignal): HearthError {
  return new HearthError('aborted', 'the caller gave up', { cause: signal.reason })
}

/** What the caller waits for goes on without it. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(givenUp(signal))
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
