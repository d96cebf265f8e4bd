import { HearthError } from '@hearth/contract'

const MOST_HEADER_BYTES = 16 * 1024
const END_OF_HEADERS = Buffer.from('\r\n\r\n')

export interface Part {
  /** The name of its field. */
  readonly name: string
  /** What the client calls the file; null where it gives none. */
  readonly filename: string | null
  /** Must be read to the end before the next part is asked for. */
  readonly content: AsyncIterable<Uint8Array>
}

/** The boundary of a `multipart/form-data` body, or `unsupported_media_type`. */
export function multipartBoundary(contentType: string | undefined): string {
  const match = /^multipart\/form-data;(?:.*;)?\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i.exec(
    contentType ?? '',
  )
  const boundary = match?.[1] ?? match?.[2]
  if (boundary !== undefined) return boundary
  throw new HearthError('unsupported_media_type', 'the content type must be multipart/form-data with a boundary')
}

/** Parts of a multipart body one after the other, none of them held in memory. */
export async function* readParts(body: AsyncIterable<Uint8Array>, boundary: string): AsyncGenerator<Part, void> {
  const scanner = new Scanner(body[Symbol.asyncIterator]())
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  // The first delimiter may stand at the very beginning, where no line ends before it.
  scanner.prepend('\r\n')
  for await (const preamble of scanner.until(delimiter)) void preamble
  while (await scanner.opensPart()) {
    const headers = await scanner.headers()
    const content = scanner.until(delimiter)
    yield { ...disposition(headers), content }
    for await (const unread of content) void unread
  }
}

class Scanner {
  readonly #pieces: AsyncIterator<Uint8Array>
  #held: Buffer = Buffer.alloc(0)

  constructor(pieces: AsyncIterator<Uint8Array>) {
    this.#pieces = pieces
  }

  prepend(text: string): void {
    this.#held = Buffer.concat([Buffer.from(text), this.#held])
  }

  /** Everything before the delimiter, which is taken too. Ends at once when it has been taken before. */
  async *until(delimiter: Buffer): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const at = this.#held.indexOf(delimiter)
      if (at >= 0) {
        const last = this.#held.subarray(0, at)
        this.#held = this.#held.subarray(at + delimiter.length)
        if (last.length > 0) yield last
        return
      }
      // The end of what is held may be the beginning of a delimiter.
      const safe = this.#held.length - delimiter.length + 1
      if (safe > 0) {
        const part = this.#held.subarray(0, safe)
        this.#held = this.#held.subarray(safe)
        yield part
      }
      await this.#more()
    }
  }

  /** What follows a delimiter: two dashes end the body, a line end begins a part. */
  async opensPart(): Promise<boolean> {
    while (this.#held.length < 2) await this.#more()
    const mark = this.#held.toString('latin1', 0, 2)
    this.#held = this.#held.subarray(2)
    if (mark === '\r\n') return true
    if (mark === '--') return false
    throw malformed('a boundary is followed by something else than a line end')
  }

  async headers(): Promise<string> {
    for (;;) {
      const at = this.#held.indexOf(END_OF_HEADERS)
      if (at > MOST_HEADER_BYTES || (at < 0 && this.#held.length > MOST_HEADER_BYTES))
        throw malformed('the headers of a part are too long')
      if (at >= 0) {
        const text = this.#held.toString('utf8', 0, at)
        this.#held = this.#held.subarray(at + END_OF_HEADERS.length)
        return text
      }
      await this.#more()
    }
  }

  async #more(): Promise<void> {
    const next = await this.#pieces.next()
    if (next.done === true) throw malformed('the body ends before its last boundary')
    this.#held = this.#held.length === 0 ? Buffer.from(next.value) : Buffer.concat([this.#held, next.value])
  }
}

/** Names have quotes and line ends percent-encoded, as browsers and `fetch` do, and nothing else. */
function disposition(headers: string): Pick<Part, 'name' | 'filename'> {
  const line = headers.split('\r\n').find((header) => /^content-disposition:/i.test(header)) ?? ''
  const name = /;\s*name="([^"]*)"/i.exec(line)?.[1]
  if (name === undefined) throw malformed('a part has no name')
  const filename = /;\s*filename="([^"]*)"/i.exec(line)?.[1]
  return { name: unescaped(name), filename: filename === undefined ? null : unescaped(filename) }
}

function unescaped(name: string): string {
  return name.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n')
}

function malformed(why: string): HearthError {
  return new HearthError('invalid_request', `the multipart body is malformed: ${why}`)
}
