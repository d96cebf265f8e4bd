import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import { BuildLock } from '../templates/build-lock.ts'

/** Makes this process the one server of a home until it ends or disposes of the lock; `conflict` while another one is. */
export async function lockHome(home: string): Promise<AsyncDisposable> {
  const taken = new AbortController()
  try {
    return await BuildLock.acquire(join(home, 'locks'), 'server', taken.signal, () => taken.abort())
  } catch (cause) {
    if (!taken.signal.aborted) throw cause
    throw new HearthError('conflict', `another server uses ${home}`, {
      cause,
      suggestion: 'Stop it, or give this one another HEARTH_HOME.',
    })
  }
}
