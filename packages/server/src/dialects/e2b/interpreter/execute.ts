import type { IncomingMessage, ServerResponse } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import { HearthError, type CodeDisplay, type CodeEvent, type CodeResult, type Sandbox } from '@hearth/contract'
import type { HttpLimits } from '../../../http/limits.ts'
import type { Operation } from '../../../http/operation.ts'
import { ResponseWriter } from '../../../http/streams/response-writer.ts'
import type { Context } from './interpreters.ts'
import { preludeOf } from './prelude.ts'

const KEEPALIVE_MS = 5000
/** Of what is run after a cell: nobody waits for it any longer. */
const RESTORE_MS = 5000

export interface Execution {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly operation: Operation
  readonly sandbox: Sandbox
}

/** What the MIME types are called in a result; whatever else there is goes under `extra`. */
const FORMS: Readonly<Record<string, string>> = {
  'text/plain': 'text',
  'text/html': 'html',
  'text/markdown': 'markdown',
  'image/svg+xml': 'svg',
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'application/pdf': 'pdf',
  'text/latex': 'latex',
  'application/json': 'json',
  'application/javascript': 'javascript',
  'application/vnd.hearth.table+json': 'data',
  'application/vnd.hearth.chart+json': 'chart',
}
const PARSED = new Set(['json', 'data', 'chart'])

/** Runs a cell and tells what it prints and shows as lines of JSON, while it does so. */
export async function execute(
  { outgoing, operation, sandbox }: Execution,
  limits: HttpLimits,
  context: Context,
  source: string,
  variables: Readonly<Record<string, string>>,
): Promise<void> {
  const code = context.language === 'typescript' ? withoutTypes(source) : source
  const lines = new Lines(outgoing, limits.writeIdleMs)
  const { signal, end } = context.begin(operation.signal)
  operation.streams((reason) => operation.abort(reason))
  const cell = { code, variables, signal, onEvent: (event: CodeEvent) => lines.event(event) }
  try {
    await context.inTurn(async () => {
      lines.send({ type: 'number_of_executions', execution_count: ++context.executions })
      tell(lines, context, await runCell(sandbox, context, cell))
    })
  } catch (error) {
    const failure = operation.failed(error)
    // A client that has gone is told nothing; one whose context was ended meanwhile is.
    context.placed = false
    const name = failure.code === 'capability_unsupported' ? 'InterpreterNotFound' : 'ContextRestarting'
    lines.send({ type: 'error', name, value: failure.message, traceback: '' })
  } finally {
    end()
    await lines.end()
  }
}

interface Cell {
  readonly code: string
  readonly variables: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly onEvent: (event: CodeEvent) => void
}

/** Variables are gone after the cell however it ends: they may be secrets of that call. */
async function runCell(sandbox: Sandbox, context: Context, cell: Cell): Promise<CodeResult> {
  const { code, variables, signal, onEvent } = cell
  signal.throwIfAborted()
  const options = { language: context.interpreter, context: context.name }
  const { before, after } = preludeOf(context.interpreter, context.placed ? null : context.cwd, variables)
  let ended = false
  try {
    if (before !== null) await sandbox.runCode(before, { ...options, signal })
    context.placed = true
    const result = await sandbox.runCode(code, { ...options, signal, onEvent })
    ended = result.error?.name === 'InterpreterEnded'
    return result
  } finally {
    if (after !== null && !ended) await sandbox.runCode(after, { ...options, timeoutMs: RESTORE_MS })
  }
}

/** What is left to be said when the cell has ended. */
function tell(lines: Lines, context: Context, { text, error, displays, timedOut, oom }: CodeResult): void {
  const told = displays.some(({ main }) => main)
  if (text !== null && !told) lines.display({ main: true, data: { 'text/plain': text } })
  if (error === null) return
  if (error.name === 'InterpreterEnded') context.placed = false
  const why = timedOut ? 'the cell ran too long' : oom ? 'the sandbox ran out of memory' : error.message
  lines.send({ type: 'error', name: error.name, value: why, traceback: error.traceback })
}

/** Newline-delimited JSON in ASCII: clients decode each piece of the stream by itself, so that no character may be split. */
class Lines {
  readonly #outgoing: ServerResponse
  readonly #writer: ResponseWriter
  readonly #keepalives: NodeJS.Timeout
  #writing: Promise<void> = Promise.resolve()
  #quiet = false

  constructor(outgoing: ServerResponse, writeIdleMs: number) {
    this.#outgoing = outgoing
    this.#writer = new ResponseWriter(outgoing, writeIdleMs)
    outgoing.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' })
    this.#keepalives = setInterval(() => {
      if (this.#quiet && !this.#writer.congested) this.send({ type: 'keepalive' })
      this.#quiet = true
    }, KEEPALIVE_MS)
  }

  send(line: Readonly<Record<string, unknown>>): void {
    this.#quiet = false
    const text = JSON.stringify(line).replaceAll(/[\u0080-\uffff]/g, escaped)
    // What a cell prints is bounded by the limits of its sandbox: it may wait here for a slow client.
    this.#writing = this.#writing.then(() => this.#writer.write(`${text}\n`)).catch(() => undefined)
  }

  event(event: CodeEvent): void {
    if (event.type === 'display') return this.display(event.display)
    this.send({ type: event.stream, text: event.text, timestamp: new Date().toISOString() })
  }

  display({ main, data }: CodeDisplay): void {
    const result: Record<string, unknown> = {}
    const extra: Record<string, string> = {}
    for (const [mime, form] of Object.entries(data)) {
      const name = FORMS[mime]
      if (name === undefined) extra[mime] = form
      else result[name] = PARSED.has(name) ? parsed(form) : name === 'text' ? unquoted(form) : form
    }
    this.send({ type: 'result', ...result, extra, is_main_result: main })
  }

  async end(): Promise<void> {
    clearInterval(this.#keepalives)
    this.send({ type: 'end_of_execution' })
    await this.#writing
    if (!this.#outgoing.destroyed) this.#outgoing.end()
  }
}

function withoutTypes(source: string): string {
  try {
    return stripTypeScriptTypes(source)
  } catch (error) {
    throw new HearthError('invalid_request', `this is not TypeScript that can be run: ${(error as Error).message}`)
  }
}

/** As a string is shown, not as it is written. */
function unquoted(text: string): string {
  return /^(['"])[^\n]*\1$/.test(text) && text.length >= 2 ? text.slice(1, -1) : text
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
