import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError } from '@hearth/contract'

const LOOK_MS = 200

/** Ends what writes to a directory when that has become too large. */
export class SizeGuard implements AsyncDisposable {
  readonly signal: AbortSignal
  readonly #mostBytes: number
  readonly #timer: NodeJS.Timeout
  #looking: Promise<void> = Promise.resolve()

  constructor(directory: string, mostBytes: number, signal?: AbortSignal) {
    const ended = new AbortController()
    this.#mostBytes = mostBytes
    this.signal = signal === undefined ? ended.signal : AbortSignal.any([ended.signal, signal])
    const look = async (): Promise<void> => {
      if ((await directoryBytes(directory)) > mostBytes) ended.abort(this.tooLarge())
    }
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(look).catch((error: unknown) => ended.abort(error))
    }, LOOK_MS)
  }

  tooLarge(): HearthError {
    const message = `the repository takes more than ${this.#mostBytes} bytes`
    return new HearthError('repository_too_large', message, { context: { limit: this.#mostBytes } })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
  }
}

/** Of all files below. What disappears meanwhile does not count. */
export async function directoryBytes(directory: string): Promise<number> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true }).catch(absent)
  const sizes = entries
    ?.filter((entry) => entry.isFile())
    .map((entry) => stat(join(entry.parentPath, entry.name)).then(({ size }) => size, absent))
  return (await Promise.all(sizes ?? [])).reduce<number>((sum, size) => sum + (size ?? 0), 0)
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}
