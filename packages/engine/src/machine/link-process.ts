import { HearthError, type OutputChunk, type Process, type ProcessExit } from '@hearth/contract'
import type { Channel } from '../link/channel.ts'
import type { Link } from '../link/link.ts'
import type { Messages } from '../link/messages.gen.ts'
import { checkedInteger } from './checks.ts'
import type { OomWatch } from './oom-watch.ts'
import { processExit, signalNumber } from './process-exit.ts'
import { ProcessInput } from './process-input.ts'
import { ProcessOutput } from './process-output.ts'

const LARGEST_TERMINAL = 1000
const SIGKILL = 9
const WHOLE_TREE = 1
const KILL_TIMEOUT_MS = 10_000
/** How much later than its timeout the end of a process may be reported. */
export const END_REPORT_MS = 10_000

/** What a process is made from once the guest has started it or found it. */
export interface LinkProcessOptions {
  readonly link: Link
  readonly channel: Channel
  readonly spawned: Messages['Spawned']
  readonly oomWatch: OomWatch
  readonly oomMark: number
  /** The offset from which output was asked for. */
  readonly offset: number
  /** How standard input is reached. */
  readonly openInput: () => Promise<Channel>
}

/** A process in the guest, and the channel that is attached to it. */
export class LinkProcess implements Process {
  readonly id: number
  readonly pid: number
  readonly #options: LinkProcessOptions
  readonly #output: ProcessOutput
  readonly #input: ProcessInput
  readonly #ended = Promise.withResolvers<ProcessExit>()
  readonly #startedAt = performance.now()
  #state: 'running' | 'aborting' | 'ended' = 'running'

  constructor(options: LinkProcessOptions) {
    this.#options = options
    this.id = options.spawned.process
    this.pid = options.spawned.pid
    this.#output = new ProcessOutput(options.offset, (bytes) => options.channel.grant(bytes))
    this.#input = new ProcessInput(options.openInput)
    // Whoever waits is told; a handle that nobody waits for must not end the host.
    this.#ended.promise.catch(() => {})
  }

  get output(): AsyncIterable<OutputChunk> {
    return this.#output.chunks
  }

  /** True when only the guest can be the reason that nothing happens. */
  get waitsForGuest(): boolean {
    return this.#output.empty
  }

  wait(): Promise<ProcessExit> {
    if (!this.#output.chunks.started) setImmediate(() => this.#discardUnread())
    return this.#ended.promise
  }

  async write(data: string | Uint8Array): Promise<void> {
    await this.#input.write(data)
  }

  async closeStdin(): Promise<void> {
    await this.#input.close()
  }

  async resize(size: { readonly rows: number; readonly cols: number }): Promise<void> {
    const rows = checkedInteger(size.rows, 1, LARGEST_TERMINAL, 'rows')
    const cols = checkedInteger(size.cols, 1, LARGEST_TERMINAL, 'cols')
    await this.#options.link.request('Resize', { process: this.id, rows, cols })
  }

  async signal(name = 'SIGTERM'): Promise<void> {
    await this.#options.link.request('Signal', { process: this.id, signal: signalNumber(name), flags: 0 })
  }

  async kill(): Promise<void> {
    try {
      const message = { process: this.id, signal: SIGKILL, flags: WHOLE_TREE }
      await this.#options.link.request('Signal', message, { timeoutMs: KILL_TIMEOUT_MS })
    } catch (error) {
      // Nothing is left of it, which is what was wanted.
      if (!HearthError.isInstance(error) || error.code !== 'process_not_found') throw error
    }
  }

  async detach(): Promise<void> {
    this.#options.channel.close()
    this.#input.release()
    this.#output.fail(null)
    this.fail(new HearthError('aborted', `process ${this.id} was detached; attach to it to wait for its end`))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#state === 'running') await this.kill()
    await this.detach()
  }

  /** The caller gave up: the whole tree is killed, then readers and waiters hear of it. */
  async abort(error: HearthError): Promise<void> {
    if (this.#state !== 'running') return
    this.#state = 'aborting'
    const failure = await this.kill().then(
      () => error,
      (cause: unknown) =>
        new HearthError('aborted', 'the caller gave up, but the process could not be killed', { cause }),
    )
    this.#options.channel.close()
    this.fail(failure)
  }

  received(message: Messages['Output'], stable: boolean): void {
    this.#output.receive(message, stable)
  }

  exited(message: Messages['Exited']): void {
    const exit = processExit(message, false)
    // An abort under way ends it by itself, with its own error.
    if (this.#state === 'aborting') return
    this.#output.end(message.outputBytes)
    this.#state = 'ended'
    const oom = this.#options.oomWatch.check(this.id, this.#options.oomMark)
    this.#output.whenEmpty(() => {
      this.#ended.resolve(oom ? { ...exit, oom } : exit)
    })
  }

  /** The channel is gone, or its reader. */
  fail(error: HearthError): void {
    if (this.#state === 'ended') return
    if (error.context['oom'] === true && this.#state === 'running') return this.#diedOfMemory()
    this.#state = 'ended'
    this.#output.fail(error)
    this.#ended.reject(error)
  }

  /** The machine went with it: that is its result, and what it wrote before stays. */
  #diedOfMemory(): void {
    this.#state = 'ended'
    this.#output.fail(null)
    const durationMs = performance.now() - this.#startedAt
    const exit = { exitCode: null, signal: 'SIGKILL', timedOut: false, oom: true, durationMs, cpuMs: null }
    this.#output.whenEmpty(() => this.#ended.resolve(exit))
  }

  #discardUnread(): void {
    if (!this.#output.chunks.started) this.#output.discard()
  }
}
