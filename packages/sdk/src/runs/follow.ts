import type { Connection } from '../sandboxes/sandbox-client.ts'
import { jsonEvents } from '../streams/json-events.ts'
import { Cancellation } from '../transport/cancellation.ts'
import { brokenStream, Persistence } from '../transport/persistence.ts'

interface Place {
  readonly path: string
  readonly query: Readonly<Record<string, number>>
}

/** A stream over as many connections as it takes. `place` says where each begins; its reader leaves out what it has. */
export async function* followed<Item>(
  { http, reconnectMs }: Connection,
  what: string,
  given: AbortSignal | undefined,
  place: () => Place,
): AsyncGenerator<Item, void> {
  const cancellation = new Cancellation(given)
  const { signal } = cancellation
  const persistence = new Persistence(reconnectMs, signal)
  try {
    for (;;) {
      try {
        const headers = { accept: 'text/event-stream' }
        const answer = await http.send({ method: 'GET', ...place(), headers, signal })
        for await (const event of jsonEvents(answer)) {
          persistence.progressed()
          yield event as unknown as Item
        }
        throw brokenStream(what)
      } catch (error) {
        await persistence.afterFailure(error)
      }
    }
  } finally {
    cancellation.release()
  }
}
