import type { ServerResponse } from 'node:http'
import type { CodeDisplay, CodeEvent } from '@hearth/contract'
import { ResponseWriter } from '../../../http/streams/response-writer.ts'

/** Clients are told after this much silence that the cell still runs. */
const KEEPALIVE_MS = 5000
/** Programs write the end of a line by itself: what is not whole waits so long for the rest. */
const WHOLE_LINE_MS = 50

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

/** Newline-delimited JSON in ASCII: clients decode each piece of the stream by itself, so that no character may be split. */
export class CellLines {
  readonly #outgoing: ServerResponse
  readonly #writer: ResponseWriter
  readonly #keepalives: NodeJS.Timeout
  #writing: Promise<void> = Promise.resolve()
  #output: { readonly stream: 'stdout' | 'stderr'; text: string; readonly timer: NodeJS.Timeout } | null = null
  #ended = false

  constructor(outgoing: ServerResponse, writeIdleMs: number) {
    this.#outgoing = outgoing
    this.#writer = new ResponseWriter(outgoing, writeIdleMs)
    outgoing.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' })
    this.#keepalives = setInterval(() => {
      // A client that has not taken the last line needs no sign of life.
      if (!this.#writer.congested) this.send({ type: 'keepalive' })
    }, KEEPALIVE_MS)
  }

  send(line: Readonly<Record<string, unknown>>): void {
    this.#flush()
    this.#write(line)
  }

  #write(line: Readonly<Record<string, unknown>>): void {
    // A cell may outlive its answer.
    if (this.#ended) return
    this.#keepalives.refresh()
    const text = JSON.stringify(line).replaceAll(/[\u0080-\uffff]/g, escaped)
    // What a cell prints is bounded by the limits of its sandbox: it may wait here for a slow client.
    this.#writing = this.#writing.then(() => this.#writer.write(`${text}\n`)).catch(() => undefined)
  }

  event(event: CodeEvent): void {
    if (this.#ended) return
    if (event.type === 'display') return this.display(event.display)
    const { stream, text } = event
    if (this.#output?.stream !== stream) this.#flush()
    this.#output ??= { stream, text: '', timer: setTimeout(() => this.#flush(), WHOLE_LINE_MS) }
    this.#output.text += text
    if (text.endsWith('\n')) this.#flush()
  }

  #flush(): void {
    const output = this.#output
    if (output === null) return
    this.#output = null
    clearTimeout(output.timer)
    this.#write({ type: output.stream, text: output.text, timestamp: new Date().toISOString() })
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

  /** After what was said already. */
  async reset(): Promise<void> {
    await this.#finish()
    this.#outgoing.destroy()
  }

  async end(): Promise<void> {
    this.send({ type: 'end_of_execution' })
    await this.#finish()
    if (!this.#outgoing.destroyed) this.#outgoing.end()
  }

  async #finish(): Promise<void> {
    this.#flush()
    this.#ended = true
    clearInterval(this.#keepalives)
    await this.#writing
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
