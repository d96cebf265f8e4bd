import { StringDecoder } from 'node:string_decoder'
import type { CodeDisplay, CodeEvent, CodeResult, OutputChunk, ProcessExit } from '@hearth/contract'
import { z } from 'zod'

const displaySchema = z.object({ display: z.object({ main: z.boolean(), data: z.record(z.string(), z.string()) }) })
const MOST_DISPLAYS = 1000

const answerSchema = z.object({
  text: z.string().nullable(),
  error: z.object({ name: z.string(), message: z.string(), traceback: z.string() }).nullable(),
})

const STREAMS = ['stdout', 'stderr'] as const

/** Gathers what one cell prints and shows, up to a limit, until its mark has come on both streams. */
export class CellOutput {
  readonly done: Promise<void>
  readonly #mark: Buffer
  readonly #limit: number
  readonly #resolve: () => void
  readonly #displays: CodeDisplay[] = []
  readonly #onEvent: (event: CodeEvent) => void
  readonly #streams = { stdout: new MarkedStream(), stderr: new MarkedStream() }

  constructor(mark: string, limit: number, onEvent: (event: CodeEvent) => void = () => {}) {
    this.#mark = Buffer.from(`\x1e${mark}`)
    this.#limit = limit
    this.#onEvent = onEvent
    const { promise, resolve } = Promise.withResolvers<void>()
    this.done = promise
    this.#resolve = resolve
  }

  add({ stream, data }: OutputChunk): void {
    this.#streams[stream].add(Buffer.from(data), this.#mark, this.#limit, {
      text: (text) => this.#onEvent({ type: 'output', stream, text }),
      line: (line) => this.#show(line),
    })
    if (STREAMS.every((name) => this.#streams[name].answer !== null)) this.#resolve()
  }

  /** True for a line that shows something, so that the answer is still to come. */
  #show(line: string): boolean {
    if (!line.startsWith('{"display"')) return false
    const shown = displaySchema.safeParse(parseJson(line))
    if (!shown.success || this.#displays.length >= MOST_DISPLAYS) return true
    this.#displays.push(shown.data.display)
    this.#onEvent({ type: 'display', display: shown.data.display })
    return true
  }

  /** `ended`: how the interpreter died, if it did before the marks came. */
  result(ended: ProcessExit | null): Omit<CodeResult, 'durationMs' | 'timedOut' | 'oom'> {
    const { stdout, stderr } = this.#streams
    const output = {
      stdout: stdout.text(this.#limit),
      stderr: stderr.text(this.#limit),
      displays: this.#displays,
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

/** Who hears of what comes on a stream, in its order. */
interface Told {
  readonly text: (text: string) => void
  /** Whether a line after a mark is something else than the answer. */
  readonly line: (line: string) => boolean
}

/** One stream: its content before the mark, and the lines that come after marks; the last of them is the answer. */
class MarkedStream {
  truncated = false
  answer: string | null = null
  readonly #content: Buffer[] = []
  readonly #decoder = new StringDecoder('utf8')
  #keptBytes = 0
  /** Bytes that may be the beginning of a mark, or a line after one up to its end. */
  #pending: Buffer = Buffer.alloc(0)
  #marked = false

  add(data: Buffer, mark: Buffer, limit: number, told: Told): void {
    if (this.answer !== null) return
    this.#pending = this.#pending.length === 0 ? data : Buffer.concat([this.#pending, data])
    while (this.answer === null) {
      if (!this.#marked) {
        const at = this.#pending.indexOf(mark)
        const safe = at === -1 ? beginningOf(mark, this.#pending) : at
        this.#keep(this.#pending.subarray(0, safe), limit, told)
        this.#pending = this.#pending.subarray(at === -1 ? safe : at + mark.length)
        if (at === -1) break
        this.#marked = true
      }
      const end = this.#pending.indexOf('\n')
      if (end === -1 && this.#pending.length <= limit) break
      this.#line(end, limit, told)
    }
  }

  /** What is shown counts against the same limit as what is printed. */
  #line(end: number, limit: number, told: Told): void {
    const line = end === -1 ? '' : this.#pending.toString('utf8', 0, end)
    const shown = this.#keptBytes + end <= limit ? told.line(line) : line.startsWith('{"display"')
    if (!shown) {
      this.answer = line
      return
    }
    if (this.#keptBytes + end > limit) this.truncated = true
    else this.#keptBytes += end
    this.#pending = this.#pending.subarray(end + 1)
    this.#marked = false
  }

  #keep(data: Buffer, limit: number, told: Told): void {
    const room = limit - this.#keptBytes
    if (data.length > room) this.truncated = true
    const kept = data.subarray(0, Math.max(0, room))
    if (kept.length === 0) return
    this.#content.push(kept)
    this.#keptBytes += kept.length
    const text = this.#decoder.write(kept)
    if (text !== '') told.text(text)
  }

  /** What did not turn out to be a mark belongs to the content, as far as there is room. */
  text(limit: number): string {
    const rest = this.#marked ? [] : [this.#pending.subarray(0, Math.max(0, limit - this.#keptBytes))]
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

/** Where the rest of this is the beginning of a mark; its end when it is not. */
function beginningOf(mark: Buffer, data: Buffer): number {
  for (let at = Math.max(0, data.length - mark.length + 1); at < data.length; at++) {
    if (data.subarray(at).equals(mark.subarray(0, data.length - at))) return at
  }
  return data.length
}
