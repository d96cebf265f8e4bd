import type { WatchEvent } from '@hearth/contract'
import { abortError, assertNotAborted, HearthError } from '../hearth-error.ts'
import { checkedPath } from '../checks.ts'
import { HandOver } from '../streams/hand-over.ts'
import { jsonEvents, type JsonEvent } from '../streams/json-events.ts'
import type { Call } from '../transport/http-client.ts'
import { brokenStream, Persistence } from '../transport/persistence.ts'
import type { SandboxClient } from './sandbox-client.ts'

export type Watching = AsyncIterable<WatchEvent> & AsyncDisposable

/** Watches below a path. Where the connection broke, changes may have been missed: an `overflow` says so. */
export async function watchFiles(
  client: SandboxClient,
  path: string,
  options: { readonly recursive?: boolean; readonly signal?: AbortSignal },
): Promise<Watching> {
  const { signal, recursive } = options
  assertNotAborted(signal)
  const controller = new AbortController()
  const query = { path: checkedPath(path), recursive: recursive === true ? true : undefined }
  const open = (): Promise<JsonEvents> => openWatch(client, query, controller.signal)
  const stop = (): void => {
    signal?.removeEventListener('abort', onAbort)
    controller.abort(new HearthError('aborted', 'the watch was closed'))
  }
  const events = new HandOver<WatchEvent>(stop)
  const onAbort = (): void => {
    if (signal !== undefined) events.end(abortError(signal))
    stop()
  }
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    const first = await open()
    void pump({ client, path, open, events, signal: controller.signal }, first).finally(stop)
  } catch (error) {
    stop()
    throw signal?.aborted === true ? abortError(signal) : error
  }
  return {
    [Symbol.asyncIterator]: () => events,
    [Symbol.asyncDispose]: async () => {
      await events.return()
    },
  }
}

type JsonEvents = AsyncGenerator<JsonEvent, void>

/** Resolves when the server says that it watches: everything from then on is seen. */
async function openWatch(
  client: SandboxClient,
  query: Call['query'] & object,
  signal: AbortSignal,
): Promise<JsonEvents> {
  const headers = { accept: 'text/event-stream' }
  const events = jsonEvents(await client.send({ method: 'GET', path: '/watch', query, headers, signal }))
  const first = await events.next()
  if (first.done === true) throw brokenStream('changes')
  return events
}

interface Watch {
  readonly client: SandboxClient
  readonly path: string
  readonly open: () => Promise<JsonEvents>
  readonly events: HandOver<WatchEvent>
  readonly signal: AbortSignal
}

async function pump(watch: Watch, first: JsonEvents): Promise<void> {
  const persistence = new Persistence(watch.client.connection.reconnectMs, watch.signal)
  let changes: JsonEvents | null = first
  try {
    for (;;) {
      try {
        if (changes === null) {
          changes = await watch.open()
          await watch.events.put({ kind: 'overflow', path: watch.path, from: null })
        }
        for await (const event of changes) {
          persistence.progressed()
          await watch.events.put(watchEvent(event))
        }
        throw brokenStream('changes')
      } catch (error) {
        await persistence.afterFailure(watch.client.explained(error))
        changes = null
      }
    }
  } catch (error) {
    watch.events.end(
      HearthError.isInstance(error) ? error : new HearthError('internal', String(error), { cause: error }),
    )
  }
}

function watchEvent(event: JsonEvent): WatchEvent {
  const { kind, path, from } = event
  if (typeof kind !== 'string' || typeof path !== 'string') {
    throw new HearthError('protocol_violation', 'an event of a watch is not complete')
  }
  return { kind: kind as WatchEvent['kind'], path, from: typeof from === 'string' ? from : null }
}
