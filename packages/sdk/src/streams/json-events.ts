import { HearthError } from '../hearth-error.ts'
import { SILENCE_MS, type Answer } from '../transport/answer.ts'
import { isErrorBody, wireFailure } from '../transport/failures.ts'
import { SseParser } from './sse-parser.ts'

/** One event of the API. `type` says which; an `error` event is thrown instead. */
export type JsonEvent = Readonly<Record<string, unknown>>

/** The events of an answer as they are asked for. Ends when the server ends the stream, which its reader may not expect. */
export async function* jsonEvents(answer: Answer): AsyncGenerator<JsonEvent, void> {
  if (answer.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    answer.close()
    throw new HearthError('protocol_violation', 'the server answered something else than a stream of events')
  }
  const parser = new SseParser()
  const requestId = answer.headers.get('x-request-id')
  for await (const chunk of answer.chunks(SILENCE_MS)) {
    for (const data of parser.push(chunk)) {
      const event = parseEvent(data)
      if (event['type'] === 'ping') continue
      if (event['type'] === 'error' && isErrorBody(event)) throw wireFailure(event.error, requestId)
      yield event
    }
  }
}

function parseEvent(data: string): JsonEvent {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch (cause) {
    throw new HearthError('protocol_violation', 'an event of the stream is not JSON', { cause })
  }
  if (typeof value === 'object' && value !== null) return value as JsonEvent
  throw new HearthError('protocol_violation', 'an event of the stream is not an object')
}
