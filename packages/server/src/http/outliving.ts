import { HearthError } from '@hearth/contract'
import type { Operation } from './operation.ts'
import { onceGone } from './streams/event-stream.ts'

/** Aborts when the client has gone, and never because the server stops: what runs in a sandbox outlives it. */
export function clientSignal(operation: Operation): AbortSignal {
  const gone = new AbortController()
  onceGone(operation, (reason) => {
    if (!isStop(reason)) gone.abort(reason)
  })
  return gone.signal
}

/** The outcome of work in a sandbox. When the server stops, the work goes on there and only its caller is let go. */
export async function unlessStopped<Value>(
  operation: Operation,
  work: Promise<Value>,
  stopped: () => HearthError,
): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>()
  onceGone(operation, (reason) => {
    if (isStop(reason)) reject(stopped())
  })
  return await Promise.race([work, promise])
}

/** For callers of work that has no number by which it could be found again. */
export function workGoesOn(): HearthError {
  return new HearthError('shutting_down', 'the server is being stopped, and what was begun in the sandbox goes on', {
    suggestion: 'Look at what it has done once the server runs again; do not run it a second time.',
  })
}

function isStop(reason: HearthError): boolean {
  return reason.code === 'shutting_down'
}
