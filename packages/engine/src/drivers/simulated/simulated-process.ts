import { HearthError, type OutputChunk, type Process, type ProcessExit, type ProcessInfo } from '@hearth/contract'
import { assertNotAborted } from '../../link/abort.ts'
import { SIMULATED_BOUNDS } from './simulated-limits.ts'
import { OutputLog } from './output-log.ts'

/** Signals that end a program that does not handle them. */
const ENDING_SIGNALS = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGKILL',
  'SIGTERM',
  'SIGUSR1',
  'SIGUSR2',
  'SIGPIPE',
  'SIGALRM',
  'SIGABRT',
]
const OTHER_SIGNALS = ['SIGCONT', 'SIGCHLD', 'SIGWINCH', 'SIGURG']

/** A longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** A command that runs or has run. The shell is not a process: what looks like one here is a promise and its output. */
export class SimulatedTask {
  readonly id: number
  readonly pid: number
  readonly command: readonly string[]
  readonly startedAt = new Date()
  readonly log = new OutputLog()
  readonly exited: Promise<ProcessExit>
  readonly #startedMs = performance.now()
  readonly #controller = new AbortController()
  readonly #exit = Promise.withResolvers<ProcessExit>()
  readonly #stdin = Promise.withResolvers<Uint8Array>()
  readonly #input: Uint8Array[] = []
  #inputBytes = 0
  #inputOpen: boolean
  #timer: NodeJS.Timeout | null = null
  #exitValue: ProcessExit | null = null

  constructor(id: number, command: readonly string[], stdin: 'pipe' | 'none', timeoutMs: number) {
    this.id = id
    this.pid = id + 1
    this.command = command
    this.exited = this.#exit.promise
    this.#inputOpen = stdin === 'pipe'
    if (stdin === 'none') this.#stdin.resolve(new Uint8Array())
    if (timeoutMs > 0) this.#timer = setTimeout(() => this.stop('SIGKILL', true), Math.min(timeoutMs, LONGEST_TIMER_MS))
  }

  /** The whole standard input. The shell takes it at its start, so a command starts when its input has ended. */
  get stdin(): Promise<Uint8Array> {
    return this.#stdin.promise
  }

  get aborted(): AbortSignal {
    return this.#controller.signal
  }

  get info(): ProcessInfo {
    const { id, pid, command, startedAt, log } = this
    return {
      id,
      pid,
      command,
      startedAt,
      exit: this.#exitValue,
      outputBytes: log.totalBytes,
      oldestOffset: log.oldestOffset,
    }
  }

  write(data: Uint8Array): void {
    if (!this.#inputOpen) throw new HearthError('spawn_failed', 'standard input is closed')
    this.#inputBytes += data.length
    if (this.#inputBytes > SIMULATED_BOUNDS.stdinBytes) throw new HearthError('too_many', 'standard input is too large')
    this.#input.push(data.slice())
  }

  closeStdin(): void {
    if (!this.#inputOpen) return
    this.#inputOpen = false
    this.#stdin.resolve(Buffer.concat(this.#input.splice(0)))
  }

  /** Ends it now. What the shell still does is cut off from the output and stops at its next step. */
  stop(signal: string, timedOut = false): void {
    this.#finish({ exitCode: null, signal, timedOut })
    this.#controller.abort()
  }

  end(exitCode: number): void {
    this.#finish({ exitCode, signal: null, timedOut: false })
  }

  #finish(end: Pick<ProcessExit, 'exitCode' | 'signal' | 'timedOut'>): void {
    if (this.#exitValue !== null) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#exitValue = { ...end, oom: false, durationMs: performance.now() - this.#startedMs, cpuMs: null }
    this.#inputOpen = false
    this.log.end()
    this.#exit.resolve(this.#exitValue)
  }
}

/** One reader's handle on a task. */
export class SimulatedProcess implements Process {
  readonly id: number
  readonly pid: number
  readonly output: AsyncIterable<OutputChunk>
  readonly #task: SimulatedTask
  readonly #reader: ReturnType<OutputLog['attach']>
  readonly #signal: AbortSignal | undefined
  #reading = false

  /** When the signal fires, readers and waiters of this handle are told that their caller gave up. */
  constructor(task: SimulatedTask, offset: number, signal: AbortSignal | undefined) {
    this.id = task.id
    this.pid = task.pid
    this.#task = task
    this.#signal = signal
    this.#reader = task.log.attach(offset)
    this.output = { [Symbol.asyncIterator]: () => this.#read() }
  }

  async wait(): Promise<ProcessExit> {
    // Without a reader the output is not waited for; it stays retained.
    await Promise.resolve()
    if (!this.#reading) this.#task.log.release(this.#reader)
    await this.#task.log.finished(this.#reader)
    assertNotAborted(this.#signal)
    return await this.#task.exited
  }

  async write(data: string | Uint8Array): Promise<void> {
    this.#task.write(typeof data === 'string' ? Buffer.from(data) : data)
  }

  async closeStdin(): Promise<void> {
    this.#task.closeStdin()
  }

  async resize(): Promise<void> {
    throw new HearthError('capability_unsupported', 'the simulated rung has no terminals')
  }

  async signal(name = 'SIGTERM'): Promise<void> {
    if (ENDING_SIGNALS.includes(name)) this.#task.stop(name)
    else if (!OTHER_SIGNALS.includes(name)) throw new HearthError('invalid_request', `unknown signal ${name}`)
  }

  async kill(): Promise<void> {
    this.#task.stop('SIGKILL')
  }

  async detach(): Promise<void> {
    this.#task.log.detach(this.#reader)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    await this.detach()
  }

  async *#read(): AsyncGenerator<OutputChunk, void> {
    this.#reading = true
    yield* this.#task.log.read(this.#reader)
    assertNotAborted(this.#signal)
  }
}
