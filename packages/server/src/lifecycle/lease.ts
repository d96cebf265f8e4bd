import { HearthError } from '@hearth/contract'
import type { Operation } from '../state/index.ts'
import type { Context } from './context.ts'

/** How long an operation is held before another server may take it over. */
export const LEASE_MS = 30_000

/**
 * Does work under an operation's lease, renewed for as long as it takes. When the lease is lost another server has taken the
 * operation over: the signal then aborts, and nothing more may be written for it.
 */
export async function underLease<T>(
  context: Pick<Context, 'store' | 'leaseMs' | 'report'>,
  operation: Operation,
  work: (lost: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController()
  const timer = setInterval(() => {
    context.store.operations.renew(operation, context.leaseMs).catch((error: unknown) => {
      if (HearthError.isInstance(error) && error.code === 'conflict') lost.abort(error)
      else context.report(`the lease of ${operation.id}`, error)
    })
  }, context.leaseMs / 3)
  timer.unref()
  try {
    return await work(lost.signal)
  } finally {
    clearInterval(timer)
  }
}
