import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { HearthError } from '@hearth/contract'

/** Linux's own; Node has no name for it. It includes `O_DIRECTORY`, so that a system without it refuses instead of making a file. */
const O_TMPFILE = 0o20_200_000
/** In memory first. */
const PLACES = ['/dev/shm', tmpdir()] as const

/**
 * A file that is in no directory: programs of the same user find it at `path` as long as this process holds it open, and when this process
 * is gone, however it ended, it is gone too. SAFETY: what is in it is never left behind, and was never under a name.
 */
export class NamelessFile implements AsyncDisposable {
  readonly path: string
  readonly #handle: FileHandle

  private constructor(handle: FileHandle) {
    this.#handle = handle
    this.path = `/proc/${process.pid}/fd/${handle.fd}`
  }

  static async holding(text: string): Promise<NamelessFile> {
    const handle = await openNameless()
    try {
      await handle.writeFile(text)
      return new NamelessFile(handle)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** From its beginning, as it is now; no more than so many bytes. */
  async read(mostBytes: number): Promise<string> {
    const { buffer, bytesRead } = await this.#handle.read(Buffer.alloc(mostBytes), 0, mostBytes, 0)
    return buffer.subarray(0, bytesRead).toString()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close()
  }
}

async function openNameless(): Promise<FileHandle> {
  const problems: unknown[] = []
  for (const place of PLACES) {
    try {
      return await open(place, constants.O_RDWR | O_TMPFILE, 0o600)
    } catch (error) {
      problems.push(error)
    }
  }
  throw new HearthError(
    'internal',
    `no file system here can hold a file without a name: ${problems.map(String).join('; ')}`,
    {
      suggestion: 'Mount a tmpfs at /dev/shm.',
    },
  )
}
