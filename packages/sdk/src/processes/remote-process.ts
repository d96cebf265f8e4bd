import type { OutputChunk, Process, ProcessExit } from '@hearth/contract'
import { abortError, hasCode, HearthError } from '../hearth-error.ts'
import type { SandboxClient } from '../sandboxes/sandbox-client.ts'
import { HandOver } from '../streams/hand-over.ts'
import type { JsonEvent } from '../streams/json-events.ts'
import type { OutputReader, Started } from './output-reader.ts'
import { ProcessInput } from './process-input.ts'

export interface RemoteProcessOptions {
  readonly client: SandboxClient
  readonly started: Started
  readonly reader: OutputReader
  readonly events: AsyncGenerator<JsonEvent, void>
  /** Ends the connections of this handle. */
  readonly controller: AbortController
  /** Called once, when nothing more is expected of the process. */
  readonly released: () => void
}

/** A process in a remote sandbox, and the stream of its output. At most one chunk is held here ahead of the reader. */
export class RemoteProcess implements Process {
  readonly id: number
  readonly pid: number
  readonly #client: SandboxClient
  readonly #controller: AbortController
  readonly #released: () => void
  readonly #input: ProcessInput
  readonly #chunks = new HandOver<OutputChunk>()
  readonly #exit: Promise<ProcessExit>
  #resolveExit: (exit: ProcessExit) => void = () => {}
  #rejectExit: (error: HearthError) => void = () => {}
  #state: 'running' | 'ended' = 'running'

  constructor(options: RemoteProcessOptions) {
    this.id = options.started.process
    this.pid = options.started.pid
    this.#client = options.client
    this.#controller = options.controller
    this.#released = options.released
    this.#input = new ProcessInput(options.client, this.id, options.controller.signal)
    this.#exit = new Promise((resolve, reject) => {
      this.#resolveExit = resolve
      this.#rejectExit = reject
    })
    // Whoever waits is told; a handle that nobody waits for must not end the program.
    this.#exit.catch(() => {})
    void this.#pump(options.reader, options.events)
  }

  get output(): AsyncIterable<OutputChunk> {
    return this.#chunks
  }

  wait(): Promise<ProcessExit> {
    // A reader may begin in the same turn; without one, the output is thrown away so that the process can end.
    if (!this.#chunks.started) setTimeout(() => this.#discardUnread(), 0)
    return this.#exit
  }

  async write(data: string | Uint8Array): Promise<void> {
    if (this.#state === 'ended') throw new HearthError('process_not_found', `process ${this.id} has ended`)
    await this.#input.write(data)
  }

  async closeStdin(): Promise<void> {
    await this.#input.close()
  }

  async resize(size: { readonly rows: number; readonly cols: number }): Promise<void> {
    await this.#post('resize', { rows: size.rows, cols: size.cols })
  }

  async signal(name = 'SIGTERM'): Promise<void> {
    await this.#post('signal', { signal: name, tree: false })
  }

  async kill(): Promise<void> {
    try {
      await this.#post('signal', { signal: 'SIGKILL', tree: true })
    } catch (error) {
      // Nothing is left of it, which is what was wanted.
      if (!hasCode(error, 'process_not_found', 'sandbox_ended')) throw error
    }
  }

  async detach(): Promise<void> {
    this.#chunks.end(null)
    this.#fail(new HearthError('aborted', `process ${this.id} was detached; attach to it to wait for its end`))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#state === 'running') await this.kill()
    await this.detach()
  }

  /** The caller gave up: the whole tree is killed, then readers and waiters hear of it. */
  async abort(signal: AbortSignal): Promise<void> {
    if (this.#state === 'ended') return
    const failure = await this.kill().then(
      () => abortError(signal),
      (cause: unknown) =>
        new HearthError('aborted', 'the caller gave up, but the process could not be killed', { cause }),
    )
    this.#fail(failure)
  }

  /** The one who attached gave up: the process goes on without this handle. */
  abandon(signal: AbortSignal): void {
    this.#fail(abortError(signal))
  }

  async #pump(reader: OutputReader, events: AsyncGenerator<JsonEvent, void>): Promise<void> {
    try {
      for await (const step of reader.steps(events)) {
        if ('chunk' in step) await this.#chunks.put(step.chunk)
        else this.#ended(step.exit)
      }
    } catch (error) {
      this.#fail(HearthError.isInstance(error) ? error : new HearthError('internal', String(error), { cause: error }))
    }
  }

  #ended(exit: ProcessExit): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#released()
    this.#chunks.end(null)
    this.#chunks.whenEmpty(() => this.#resolveExit(exit))
  }

  #fail(error: HearthError): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#chunks.end(error)
    this.#rejectExit(error)
    this.#controller.abort(error)
    this.#released()
  }

  #discardUnread(): void {
    if (!this.#chunks.started) this.#chunks.discard()
  }

  async #post(action: 'resize' | 'signal', json: object): Promise<void> {
    await this.#client.done({ method: 'POST', path: `/processes/${this.id}/${action}`, json })
  }
}
