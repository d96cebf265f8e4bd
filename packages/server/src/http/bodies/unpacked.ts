import { createGunzip } from 'node:zlib'
import { HearthError } from '@hearth/contract'

/** What was compressed with gzip, up to a bound. */
export async function* unpacked(body: AsyncIterable<Buffer>, maximumBytes: number): AsyncGenerator<Buffer, void> {
  const gunzip = createGunzip()
  const packed = (async () => {
    for await (const piece of body) if (!gunzip.write(piece)) await drained(gunzip)
    gunzip.end()
  })()
  packed.catch((error: Error) => gunzip.destroy(error))
  let length = 0
  try {
    for await (const piece of gunzip as AsyncIterable<Buffer>) {
      length += piece.length
      if (length > maximumBytes)
        throw new HearthError('body_too_large', `the body is larger than ${maximumBytes} bytes`)
      yield piece
    }
  } catch (error) {
    if (HearthError.isInstance(error)) throw error
    throw new HearthError('invalid_request', 'the body is not what its encoding says', { cause: error })
  } finally {
    gunzip.destroy()
  }
}

async function drained(stream: NodeJS.EventEmitter): Promise<void> {
  await new Promise<void>((resolve) => {
    stream.once('drain', resolve)
    stream.once('close', resolve)
  })
}
