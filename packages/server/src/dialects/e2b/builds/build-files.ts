import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import { unpacked } from '../../../http/bodies/unpacked.ts'

/** Of one tenant, and how long nobody may ask for one before it goes. */
const MOST_BYTES = 8 * 1024 ** 3
const KEPT_MS = 7 * 24 * 3_600_000
/** What an archive may be unpacked; the disk of the sandbox has a limit of its own. */
const MOST_UNPACKED = 64 * 1024 ** 3
const GZIP = Buffer.from([0x1f, 0x8b])

/**
 * Archives that clients send for builds, each under the hash that the client has for it. What the hash says cannot be checked here, so that each
 * tenant has its own.
 */
export class BuildFiles {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  /** When it came; null while there is none. One that is asked for is kept for longer. */
  async present(tenantId: string, hash: string): Promise<number | null> {
    const path = this.#path(tenantId, hash)
    const found = await stat(path).catch(() => null)
    if (found === null) return null
    await utimes(path, new Date(), found.mtime).catch(() => undefined)
    return found.mtimeMs
  }

  /** Whole or not at all. */
  async write(tenantId: string, hash: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    await this.#makeRoom(tenantId)
    const path = this.#path(tenantId, hash)
    const temporary = `${path}.${randomBytes(6).toString('hex')}`
    await mkdir(join(this.#directory, tenantId), { recursive: true, mode: 0o700 })
    try {
      await using file = await open(temporary, 'wx', 0o600)
      let length = 0
      for await (const piece of content) {
        length += piece.length
        if (length > MOST_BYTES)
          throw new HearthError('body_too_large', `files of a build are at most ${MOST_BYTES} bytes`)
        await file.write(piece)
      }
      await file.close()
      await rename(temporary, path)
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
  }

  /** As a plain tar, whether it was compressed or not. */
  async *read(tenantId: string, hash: string): AsyncGenerator<Uint8Array, void> {
    const path = this.#path(tenantId, hash)
    const stream = createReadStream(path) as AsyncIterable<Buffer>
    yield* (await isCompressed(path)) ? unpacked(stream, MOST_UNPACKED) : stream
  }

  /** What nobody has asked for lately goes, and then the oldest, until there is room. */
  async #makeRoom(tenantId: string): Promise<void> {
    const directory = join(this.#directory, tenantId)
    const names = await readdir(directory).catch(() => [])
    const files = await Promise.all(
      names.map(async (name) => ({
        path: join(directory, name),
        facts: await stat(join(directory, name)).catch(() => null),
      })),
    )
    const byAge = files
      .flatMap(({ path, facts }) => (facts === null ? [] : [{ path, size: facts.size, at: facts.atimeMs }]))
      .sort((one, other) => other.at - one.at)
    let total = 0
    for (const { path, size, at } of byAge) {
      total += size
      if (total > MOST_BYTES / 2 || at < Date.now() - KEPT_MS) await rm(path, { force: true })
    }
  }

  #path(tenantId: string, hash: string): string {
    if (!/^[0-9a-f]{64}$/.test(hash)) throw new HearthError('invalid_request', 'hash: must be 64 hexadecimal digits')
    return join(this.#directory, tenantId, hash)
  }
}

async function isCompressed(path: string): Promise<boolean> {
  await using file = await open(path, 'r')
  const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0)
  return bytesRead === 2 && buffer.equals(GZIP)
}
