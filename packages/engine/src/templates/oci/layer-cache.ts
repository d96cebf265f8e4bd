import { randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { access, mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { IMAGE_LIMITS } from './image-limits.ts'

/** Layers as they came from a registry, by the digest of their content, shared between images. */
export class LayerCache {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  async has(diffId: string): Promise<boolean> {
    return await access(this.#path(diffId)).then(
      () => true,
      () => false,
    )
  }

  /** Reads a layer that is there. Its content is compared with its digest by whoever unpacks it. */
  async *read(diffId: string): AsyncGenerator<Uint8Array, void> {
    const path = this.#path(diffId)
    const now = new Date()
    await utimes(path, now, now)
    for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) yield chunk as Uint8Array
  }

  /** Appears whole or not at all. */
  async write(diffId: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    const draft = `${this.#path(diffId)}.${randomBytes(6).toString('hex')}.tmp`
    try {
      await pipeline(
        Readable.from(bytes, { objectMode: false }),
        createWriteStream(draft, { flags: 'wx', mode: 0o600 }),
      )
      await rename(draft, this.#path(diffId))
    } finally {
      await rm(draft, { force: true })
    }
  }

  async remove(diffId: string): Promise<void> {
    await rm(this.#path(diffId), { force: true })
  }

  /** Removes the least recently used until the rest fits. */
  async prune(maximumBytes: number = IMAGE_LIMITS.cacheBytes): Promise<void> {
    const names = await readdir(this.#directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    })
    const found = await Promise.all(
      names.map(async (name) => {
        const path = join(this.#directory, name)
        const status = await stat(path).catch(() => null)
        return status === null ? null : { path, bytes: status.size, usedMs: status.mtimeMs }
      }),
    )
    const files = found.filter((file) => file !== null).toSorted((a, b) => b.usedMs - a.usedMs)
    let total = 0
    for (const file of files) {
      total += file.bytes
      if (total > maximumBytes) await rm(file.path, { force: true })
    }
  }

  #path(diffId: string): string {
    return join(this.#directory, diffId.replace(':', '-'))
  }
}
