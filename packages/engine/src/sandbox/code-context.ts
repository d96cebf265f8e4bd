import { randomBytes } from 'node:crypto'
import {
  BOUNDS,
  HearthError,
  type CodeLanguage,
  type CodeResult,
  type Process,
  type ProcessExit,
  type Sandbox,
} from '@hearth/contract'
import { assertNotAborted } from '../link/abort.ts'
import { CellOutput } from './cell-output.ts'
import { INTERPRETERS } from './interpreters.ts'

interface CellLimits {
  readonly timeoutMs: number
  readonly outputBytes: number
  readonly signal: AbortSignal | undefined
}

interface Running {
  readonly process: Process
  readonly exit: Promise<ProcessExit>
}

/** One interpreter and the cells that it runs, one after another. It is started at the first cell and after it died. */
export class CodeContext {
  readonly #language: CodeLanguage
  readonly #sandbox: Pick<Sandbox, 'spawn'>
  #running: Running | null = null
  #cell: CellOutput | null = null
  #queue: Promise<unknown> = Promise.resolve()

  constructor(language: CodeLanguage, sandbox: Pick<Sandbox, 'spawn'>) {
    this.#language = language
    this.#sandbox = sandbox
  }

  run(code: string, limits: CellLimits): Promise<CodeResult> {
    const result = this.#queue.then(() => this.#runCell(code, limits))
    this.#queue = result.catch(() => undefined)
    return result
  }

  async #runCell(code: string, limits: CellLimits): Promise<CodeResult> {
    assertNotAborted(limits.signal)
    const { process, exit } = (this.#running ??= await this.#start())
    const mark = randomBytes(12).toString('hex')
    const cell = new CellOutput(mark, limits.outputBytes)
    this.#cell = cell
    const started = performance.now()
    let timedOut = false
    const timer = setTimeout(() => {
      timedOut = true
      void process.kill()
    }, limits.timeoutMs)
    const abort = (): void => void process.kill()
    limits.signal?.addEventListener('abort', abort, { once: true })
    try {
      void process.write(INTERPRETERS[this.#language].request(mark, code)).catch(ignoreEnded)
      const ended = await Promise.race([cell.done.then(() => null), exit])
      assertNotAborted(limits.signal)
      return { ...cell.result(ended), durationMs: performance.now() - started, timedOut, oom: ended?.oom ?? false }
    } finally {
      clearTimeout(timer)
      limits.signal?.removeEventListener('abort', abort)
      this.#cell = null
    }
  }

  async #start(): Promise<Running> {
    const process = await this.#sandbox.spawn([...INTERPRETERS[this.#language].command], {
      stdin: 'pipe',
      timeoutMs: BOUNDS.maximumTtlMs,
    })
    const exit = this.#pump(process).finally(() => {
      this.#running = null
    })
    return { process, exit }
  }

  /** Output between two cells (a thread that goes on, say) has no reader and is dropped. */
  async #pump(process: Process): Promise<ProcessExit> {
    for await (const chunk of process.output) this.#cell?.add(chunk)
    return await process.wait()
  }
}

function ignoreEnded(error: unknown): void {
  // The interpreter died before it took the cell; its exit says so.
  if (!HearthError.isInstance(error)) throw error
}
