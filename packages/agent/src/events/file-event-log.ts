import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { agentEventSchema, HearthError, type AgentEvent } from '@hearth/contract'
import { outOfTurn, type EventLog } from './event-log.ts'

const LOG_BYTES = 1024 * 1024 * 1024

/** One JSON value a line, on the disk before `append` resolves. A line that a crash cut short is as if it had never been. */
export class FileEventLog implements EventLog, AsyncDisposable {
  readonly #file: FileHandle
  readonly #path: string
  #size: number
  #next: number

  private constructor(path: string, file: FileHandle, size: number, next: number) {
    this.#path = path
    this.#file = file
    this.#size = size
    this.#next = next
  }

  /** Makes the file when it is missing. */
  static async open(path: string): Promise<FileEventLog> {
    const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND, 0o600)
    try {
      const content = await readAll(file, path)
      const whole = content.lastIndexOf(0x0a) + 1
      if (whole < content.length) await file.truncate(whole)
      const events = parseLines(content.subarray(0, whole), path)
      return new FileEventLog(path, file, whole, events.length)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  async append(event: AgentEvent): Promise<void> {
    const { size } = await this.#file.stat()
    if (event.seq !== this.#next || size !== this.#size) throw outOfTurn(event, this.#next)
    const line = Buffer.from(`${JSON.stringify(event)}\n`)
    await this.#file.appendFile(line)
    await this.#file.datasync()
    this.#size += line.length
    this.#next++
  }

  async read(): Promise<readonly AgentEvent[]> {
    const content = await readAll(this.#file, this.#path)
    return parseLines(content.subarray(0, content.lastIndexOf(0x0a) + 1), this.#path)
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

async function readAll(file: FileHandle, path: string): Promise<Buffer> {
  const { size } = await file.stat()
  if (size > LOG_BYTES) throw new HearthError('invalid_request', `${path} is too large for the log of a run`)
  const content = Buffer.alloc(size)
  let filled = 0
  while (filled < size) {
    const { bytesRead } = await file.read(content, filled, size - filled, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return content.subarray(0, filled)
}

function parseLines(content: Buffer, path: string): AgentEvent[] {
  const lines = content.toString('utf8').split('\n').slice(0, -1)
  return lines.map((line, index) => {
    try {
      const event = agentEventSchema.parse(JSON.parse(line))
      if (event.seq !== index) throw new Error(`it is numbered ${event.seq}`)
      return event
    } catch (error) {
      throw new HearthError('invalid_request', `line ${index + 1} of ${path} is no event of a run: ${String(error)}`, {
        cause: error,
      })
    }
  })
}
