import type { OutputChunk, ProcessExit } from '@hearth/contract'
import { HearthError } from '../hearth-error.ts'
import type { SandboxClient } from '../sandboxes/sandbox-client.ts'
import { fromBase64 } from '../streams/bytes.ts'
import { jsonEvents, type JsonEvent } from '../streams/json-events.ts'
import type { Answer } from '../transport/answer.ts'
import { brokenStream, Persistence } from '../transport/persistence.ts'

export interface Started {
  readonly process: number
  readonly pid: number
}

type Step = { readonly chunk: OutputChunk } | { readonly exit: ProcessExit }

/** The output of one process from an offset to its end, over as many connections as it takes: no byte twice, none left out unsaid. */
export class OutputReader {
  readonly #client: SandboxClient
  readonly #signal: AbortSignal
  #process = 0
  #position: number
  /** False until the first byte has come to a reader that began elsewhere than at 0: it may have asked for more than there is. */
  #begun: boolean

  constructor(client: SandboxClient, offset: number, signal: AbortSignal) {
    this.#client = client
    this.#signal = signal
    this.#position = offset
    this.#begun = offset === 0
  }

  /** Opens the output of a known process at the present position. */
  open(process: number): Promise<Answer> {
    return this.#client.send({
      method: 'GET',
      path: `/processes/${process}/output`,
      query: { offset: this.#position },
      headers: { accept: 'text/event-stream' },
      signal: this.#signal,
    })
  }

  /** Reads the first event, which says what is being read. The rest is for `steps`. */
  async begin(answer: Answer): Promise<{ started: Started; events: AsyncGenerator<JsonEvent, void> }> {
    const events = jsonEvents(answer)
    const first = await events.next()
    if (first.done === true) throw brokenStream('output')
    const { type, process, pid } = first.value
    if (type !== 'started' || !Number.isSafeInteger(process) || !Number.isSafeInteger(pid)) {
      await events.return()
      throw new HearthError('protocol_violation', 'a stream of output does not begin with its process')
    }
    const started = { process: process as number, pid: pid as number }
    this.#process = started.process
    return { started, events }
  }

  /** The same as `steps`, of a process of which the number alone is known. */
  resume(process: number): AsyncGenerator<Step, void> {
    this.#process = process
    return this.steps(null)
  }

  /** Every chunk, then the exit. */
  async *steps(events: AsyncGenerator<JsonEvent, void> | null): AsyncGenerator<Step, void> {
    const persistence = new Persistence(this.#client.connection.reconnectMs, this.#signal)
    let current = events
    for (;;) {
      try {
        current ??= await this.#reopen()
        for await (const event of current) {
          persistence.progressed()
          const step = this.#step(event)
          if (step !== null) yield step
          if (step !== null && 'exit' in step) return await atItsEnd(current)
        }
        throw brokenStream('output')
      } catch (error) {
        await persistence.afterFailure(this.#client.explained(error))
        current = null
      }
    }
  }

  async #reopen(): Promise<AsyncGenerator<JsonEvent, void>> {
    const process = this.#process
    const { started, events } = await this.begin(await this.open(process))
    if (started.process === process) return events
    await events.return()
    throw new HearthError('protocol_violation', 'a stream of output is that of another process')
  }

  #step(event: JsonEvent): Step | null {
    if (event['type'] === 'exit') return { exit: event['exit'] as ProcessExit }
    if (event['type'] !== 'output') return null
    const chunk = this.#chunk(event)
    return chunk === null ? null : { chunk }
  }

  /** Bytes that were seen before the connection broke are left out, and those that were not retained are counted. */
  #chunk(event: JsonEvent): OutputChunk | null {
    const { offset, data, stream } = event
    if (!isOffset(offset) || typeof data !== 'string' || (stream !== 'stdout' && stream !== 'stderr')) {
      throw new HearthError('protocol_violation', 'an event of output is not complete')
    }
    const bytes = fromBase64(data)
    if (!this.#begun && offset < this.#position) this.#position = offset
    this.#begun = true
    const seen = Math.max(0, this.#position - offset)
    if (seen >= bytes.length) return null
    const dropped = Math.max(0, offset - this.#position)
    const begin = offset + seen
    this.#position = offset + bytes.length
    return { stream, data: seen === 0 ? bytes : bytes.subarray(seen), offset: begin, dropped }
  }
}

/** The server ends the stream after the exit. One that was read to its end leaves its connection to the next request. */
async function atItsEnd(events: AsyncGenerator<JsonEvent, void>): Promise<void> {
  // Nothing more is expected: how the stream ends tells nothing.
  await events.next().catch(() => {})
  await events.return().catch(() => {})
}

function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
