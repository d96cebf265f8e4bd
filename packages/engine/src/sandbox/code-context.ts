import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  BOUNDS,
  HearthError,
  type CodeEvent,
  type CodeLanguage,
  type CodeResult,
  type Process,
  type ProcessExit,
  type Sandbox,
} from '@hearth/contract'
import { inBackground, type OnProblem } from '../host/in-background.ts'
import { assertNotAborted } from '../link/abort.ts'
import type { CapturedInterpreter } from '../store/snapshot-manifest.ts'
import { CellOutput } from './cell-output.ts'
import { INTERPRETERS } from './interpreters.ts'

/** How long an interrupted cell has to end. */
const INTERRUPT_MS = 2000

interface CellLimits {
  readonly timeoutMs: number
  readonly outputBytes: number
  readonly signal?: AbortSignal | undefined
  readonly onEvent?: ((event: CodeEvent) => void) | undefined
}

interface Running {
  readonly process: Process
  readonly exit: Promise<ProcessExit>
}

export interface CodeContextOptions {
  readonly language: CodeLanguage
  readonly sandbox: Pick<Sandbox, 'spawn' | 'attach'>
  /** An interpreter that goes on in a copy of the sandbox that it was started in. */
  readonly captured: CapturedInterpreter | null
  /** That sandbox, or other copies of it, may go on too. */
  readonly copied: boolean
  /** No cell begins before this resolves. */
  readonly mayBegin: () => Promise<void>
  /** Another cell is on its way, so that whoever comes after this engine finds the interpreter behind it. */
  readonly onCell: () => void
  readonly onProblem: OnProblem
}

/** One interpreter and the cells that it runs, one after another. It is started at the first cell and after it died. */
export class CodeContext {
  readonly #options: CodeContextOptions
  #captured: CapturedInterpreter | null
  #found: Omit<CapturedInterpreter, 'context'> | null
  #running: Running | null = null
  #cell: CellOutput | null = null
  /** Of the cell that runs. */
  #mark: string | null = null
  /** Its next cell is the first one after it was copied. */
  #copied = false
  /** Its request, until it is whole on its way to the interpreter. */
  #writing: Promise<void> | null = null
  /** Up to here the interpreter's output was read. */
  #offset = 0
  #queue: Promise<unknown> = Promise.resolve()

  constructor(options: CodeContextOptions) {
    this.#options = options
    this.#captured = options.captured
    this.#found = options.captured
  }

  /** How another engine finds the interpreter in the same sandbox: with the cell that it was last given, which may be over. */
  get found(): Omit<CapturedInterpreter, 'context'> | null {
    return this.#found
  }

  /** Resolves when a request that was begun is on its way. */
  async written(): Promise<void> {
    await this.#writing
  }

  /** How a copy of the sandbox finds the interpreter; null when there is none that a copy could go on with. */
  state(): Omit<CapturedInterpreter, 'context'> | null {
    if (this.#captured !== null) return this.#captured
    if (this.#running === null || this.#writing !== null) return null
    const { language } = this.#options
    return { language, process: this.#running.process.id, offset: this.#offset, mark: this.#mark }
  }

  run(code: string, limits: CellLimits): Promise<CodeResult> {
    const result = this.#queue.then(() => this.#runCell(code, limits))
    this.#queue = result.catch(() => undefined)
    return result
  }

  async #runCell(code: string, limits: CellLimits): Promise<CodeResult> {
    assertNotAborted(limits.signal)
    await this.#options.mayBegin()
    const { process, exit } = (this.#running ??= await this.#start())
    // Starting takes a while, in which a capture may have begun; from here to the request nothing comes in between.
    await this.#options.mayBegin()
    const mark = randomBytes(12).toString('hex')
    const cell = new CellOutput(mark, limits.outputBytes, limits.onEvent)
    this.#cell = cell
    this.#mark = mark
    const started = performance.now()
    const { onProblem } = this.#options
    let timedOut = false
    const timer = setTimeout(() => {
      timedOut = true
      void inBackground('ending a cell that took too long', () => process.kill().catch(ignoreEnded), onProblem)
    }, limits.timeoutMs)
    const abort = (): void =>
      void inBackground('ending a cell that was given up', () => this.#endCell(process, cell), onProblem)
    limits.signal?.addEventListener('abort', abort, { once: true })
    try {
      this.#write(process, mark, INTERPRETERS[this.#options.language].request(mark, code, this.#copied))
      this.#copied = false
      const ended = await Promise.race([cell.done.then(() => null), exit])
      assertNotAborted(limits.signal)
      return { ...cell.result(ended), durationMs: performance.now() - started, timedOut, oom: ended?.oom ?? false }
    } finally {
      clearTimeout(timer)
      limits.signal?.removeEventListener('abort', abort)
      this.#cell = null
      this.#mark = null
    }
  }

  /** Where it can be, the cell alone is ended, so that what came before it is kept. One that does not listen ends with its interpreter. */
  async #endCell(process: Process, cell: CellOutput): Promise<void> {
    if (INTERPRETERS[this.#options.language].interruptible) {
      await process.signal('SIGINT').catch(ignoreEnded)
      const over = await Promise.race([cell.done.then(() => true), sleep(INTERRUPT_MS, false, { ref: false })])
      if (over) return
    }
    await process.kill().catch(ignoreEnded)
  }

  #write(process: Process, mark: string, request: string): void {
    const { language, onCell } = this.#options
    const found = { language, process: process.id, offset: this.#offset, mark }
    const write = async (): Promise<void> => {
      await process.write(request).catch(ignoreEnded)
      this.#found = found
      onCell()
    }
    const writing = inBackground('giving a cell to its interpreter', write, this.#options.onProblem).finally(() => {
      if (this.#writing === writing) this.#writing = null
    })
    this.#writing = writing
  }

  async #start(): Promise<Running> {
    const captured = this.#captured
    const taken = captured === null ? null : await this.#takeUp(captured)
    this.#captured = null
    this.#copied = taken !== null && this.#options.copied
    if (taken !== null) return taken
    const { command, program } = INTERPRETERS[this.#options.language]
    if (program !== command[0]) await this.#requireProgram(program)
    try {
      const options = { stdin: 'pipe', timeoutMs: BOUNDS.maximumTtlMs } as const
      return this.#follow(await this.#options.sandbox.spawn([...command], options))
    } catch (error) {
      if (HearthError.isInstance(error) && error.code === 'spawn_failed') await this.#requireProgram(program)
      throw error
    }
  }

  /** Whether a sandbox has a language is up to its template. */
  async #requireProgram(program: string): Promise<void> {
    const { language, sandbox } = this.#options
    const search = await sandbox.spawn(['sh', '-c', 'command -v "$1"', 'sh', program])
    if ((await search.wait()).exitCode === 0) return
    throw new HearthError('capability_unsupported', `this sandbox cannot run ${language}: it has no ${program}`, {
      suggestion: `Make it of a template or an image that has ${program}.`,
    })
  }

  /** Null when it has ended, so that a new one is started. The cell that it was running is its former sandbox's: what it says is dropped. */
  async #takeUp({ process: id, offset, mark }: CapturedInterpreter): Promise<Running | null> {
    try {
      const running = this.#follow(await this.#options.sandbox.attach(id, { offset }))
      if (mark === null) return running
      const former = new CellOutput(mark, 0)
      this.#cell = former
      const ended = await Promise.race([former.done.then(() => null), running.exit])
      this.#cell = null
      return ended === null ? running : null
    } catch (error) {
      if (HearthError.isInstance(error) && error.code === 'process_not_found') return null
      throw error
    }
  }

  #follow(process: Process): Running {
    const exit = this.#pump(process).finally(() => {
      this.#running = null
    })
    return { process, exit }
  }

  /** Output between two cells (a thread that goes on, say) has no reader and is dropped. */
  async #pump(process: Process): Promise<ProcessExit> {
    this.#offset = 0
    for await (const chunk of process.output) {
      this.#offset = chunk.offset + chunk.data.length
      this.#cell?.add(chunk)
    }
    return await process.wait()
  }
}

function ignoreEnded(error: unknown): void {
  // The interpreter died before it took the cell; its exit says so.
  if (!HearthError.isInstance(error)) throw error
}
