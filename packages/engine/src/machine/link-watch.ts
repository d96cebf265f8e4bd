import type { HearthError, WatchEvent } from '@hearth/contract'
import { assertNotAborted, onAbort } from '../link/abort.ts'
import type { Link } from '../link/link.ts'
import type { Messages } from '../link/messages.gen.ts'
import { Pull } from '../link/pull.ts'
import { WireError } from '../link/wire.ts'

const KINDS: readonly (WatchEvent['kind'] | undefined)[] = [
  undefined,
  'created',
  'changed',
  'removed',
  'renamed',
  'overflow',
  'attributes',
]
const RECURSIVE = 1

export type Watching = AsyncIterable<WatchEvent> & AsyncDisposable

/** Watches below a path until the reader goes away. Resolves when everything that happens from then on is seen. */
export function watchFiles(link: Link, path: string, recursive: boolean, signal?: AbortSignal): Promise<Watching> {
  return new Promise((resolve, reject: (error: HearthError) => void) => {
    assertNotAborted(signal)
    const queue: { event: WatchEvent; bytes: number }[] = []
    let watching = false
    const stop = (): void => {
      release()
      channel.close()
    }
    const take = (): WatchEvent | undefined => {
      const next = queue.shift()
      if (next !== undefined) channel.grant(next.bytes)
      return next?.event
    }
    const events: Pull<WatchEvent> = new Pull({ take, abandoned: stop })
    const channel = link.open(
      'Watch',
      { path, flags: recursive ? RECURSIVE : 0 },
      {
        Watching: () => {
          if (watching) throw new WireError('one watch began twice')
          watching = true
          channel.limitSilence(0)
          resolve(disposable(events))
        },
        Changed: (message, _stable, bytes) => {
          if (!watching) throw new WireError('a change before its watch began')
          queue.push({ event: watchEvent(message), bytes })
          events.notify()
        },
        ended: (error) => {
          release()
          events.end(error)
          reject(error)
        },
      },
    )
    const release = onAbort(signal, (error) => channel.fail(error))
  })
}

function watchEvent(message: Messages['Changed']): WatchEvent {
  const kind = KINDS[message.kind]
  if (kind === undefined) throw new WireError(`a change of kind ${message.kind} does not exist`)
  return { kind, path: message.path, from: kind === 'renamed' ? message.from : null }
}

function disposable(events: Pull<WatchEvent>): Watching {
  return {
    [Symbol.asyncIterator]: () => events,
    [Symbol.asyncDispose]: async () => {
      await events.return()
    },
  }
}
