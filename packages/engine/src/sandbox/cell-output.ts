import type { CodeResult, OutputChunk, ProcessExit } from '@hearth/contract'
import { z } from 'zod'

const answerSchema = z.object({
  text: z.string().nullable(),
  error: z.object({ name: z.string(), message: z.string(), traceback: z.string() }).nullable(),
})

const STREAMS = ['stdout', 'stderr'] as const

/** Gathers what one cell prints, up to a limit, until its mark has come on both streams. */
export class CellOutput {
  readonly done: Promise<void>
  readonly #mark: Buffer
  readonly #limit: number
  readonly #resolve: () => void
  readonly #streams = { stdout: new MarkedStream(), stderr: new MarkedStream() }

  constructor(mark: string, limit: number) {
    this.#mark = Buffer.from(`\x1e${mark}`)
    this.#limit = limit
    const { promise, resolve } = Promise.withResolvers<void>()
    this.done = promise
    this.#resolve = resolve
  }

  add(chunk: OutputChunk): void {
    this.#streams[chunk.stream].add(Buffer.from(chunk.data), this.#mark, this.#limit)
    if (STREAMS.every((name) => this.#streams[name].answer !== null)) this.#resolve()
  }

  /** `ended`: how the interpreter died, if it did before the marks came. */
  result(ended: ProcessExit | null): Omit<CodeResult, 'durationMs' | 'timedOut' | 'oom'> {
    const { stdout, stderr } = this.#streams
    const output = {
      stdout: stdout.text(this.#limit),
      stderr: stderr.text(this.#limit),
      truncated: stdout.truncated || stderr.truncated,
    }
    if (ended !== null) return { ...output, text: null, error: interpreterEnded(ended) }
    const answer = answerSchema.safeParse(parseJson(stdout.answer ?? ''))
    if (!answer.success) {
      return {
        ...output,
        text: null,
        error: { name: 'InvalidAnswer', message: 'the interpreter gave no valid answer', traceback: '' },
      }
    }
    return { ...output, ...answer.data }
  }
}

/** One stream: its content before the mark, and the line that comes after it. */
class MarkedStream {
  truncated = false
  answer: string | null = null
  readonly #content: Buffer[] = []
  #contentBytes = 0
  /** Bytes that may be the beginning of a mark, or the answer up to its line end. */
  #pending: Buffer = Buffer.alloc(0)
  #marked = false

  add(data: Buffer, mark: Buffer, limit: number): void {
    if (this.answer !== null) return
    this.#pending = this.#pending.length === 0 ? data : Buffer.concat([this.#pending, data])
    if (!this.#marked) {
      const at = this.#pending.indexOf(mark)
      const safe = at === -1 ? Math.max(0, this.#pending.length - mark.length + 1) : at
      this.#keep(this.#pending.subarray(0, safe), limit)
      this.#pending = this.#pending.subarray(at === -1 ? safe : at + mark.length)
      if (at === -1) return
      this.#marked = true
    }
    const end = this.#pending.indexOf('\n')
    if (end !== -1) this.answer = this.#pending.toString('utf8', 0, end)
    else if (this.#pending.length > limit) this.answer = ''
  }

  #keep(data: Buffer, limit: number): void {
    const room = limit - this.#contentBytes
    if (data.length > room) this.truncated = true
    const kept = data.subarray(0, Math.max(0, room))
    if (kept.length === 0) return
    this.#content.push(kept)
    this.#contentBytes += kept.length
  }

  /** What did not turn out to be a mark belongs to the content, as far as there is room. */
  text(limit: number): string {
    const rest = this.#marked ? [] : [this.#pending.subarray(0, Math.max(0, limit - this.#contentBytes))]
    return Buffer.concat([...this.#content, ...rest]).toString('utf8')
  }
}

function interpreterEnded(exit: ProcessExit): CodeResult['error'] {
  const how = exit.signal ?? `exit code ${exit.exitCode}`
  return { name: 'InterpreterEnded', message: `the interpreter ended with ${how}; its state is lost`, traceback: '' }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
