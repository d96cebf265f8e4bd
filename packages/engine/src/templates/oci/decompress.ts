import { pipeline, Readable } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { imageInvalid } from './image-error.ts'

/** Decompresses gzip and zstd by what the bytes are, not by what the media type says; anything else passes as it is. */
export async function* decompressed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const iterator = source[Symbol.asyncIterator]()
  try {
    const head = await firstBytes(iterator)
    const rest = following(head, iterator)
    const decoder = decoderFor(head)
    if (decoder === null) {
      yield* rest
      return
    }
    let failure: Error | null = null
    pipeline(Readable.from(rest, { objectMode: false }), decoder, (error) => {
      failure = error ?? null
    })
    try {
      for await (const chunk of decoder) yield chunk as Uint8Array
    } catch (error) {
      throw isDataError(failure ?? error)
        ? imageInvalid('a layer is not compressed correctly', {}, error)
        : (failure ?? error)
    } finally {
      decoder.destroy()
    }
  } finally {
    await iterator.return?.()
  }
}

function decoderFor(
  head: Uint8Array,
): ReturnType<typeof createGunzip> | ReturnType<typeof createZstdDecompress> | null {
  const starts = (...bytes: number[]): boolean => bytes.every((byte, index) => head[index] === byte)
  if (starts(0x1f, 0x8b)) return createGunzip({ chunkSize: 256 * 1024 })
  return starts(0x28, 0xb5, 0x2f, 0xfd) ? createZstdDecompress({ chunkSize: 256 * 1024 }) : null
}

/** At least 4 bytes, unless the stream is shorter. */
async function firstBytes(iterator: AsyncIterator<Uint8Array>): Promise<Buffer> {
  let head = Buffer.alloc(0)
  while (head.length < 4) {
    const next = await iterator.next()
    if (next.done === true) break
    head = Buffer.concat([head, next.value])
  }
  return head
}

async function* following(head: Buffer, iterator: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  if (head.length > 0) yield head
  for (;;) {
    const next = await iterator.next()
    if (next.done === true) return
    yield next.value
  }
}

function isDataError(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | null)?.code ?? ''
  return code.startsWith('Z_') || code.startsWith('ZSTD_') || code.startsWith('ERR__ZSTD') || code === 'ERR_ZLIB_ZSTD'
}
