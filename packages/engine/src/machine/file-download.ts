import { HearthError, type HearthError as Failure } from '@hearth/contract'
import { assertNotAborted, onAbort } from '../link/abort.ts'
import type { Channel, ChannelHandlers } from '../link/channel.ts'
import { ChunkQueue } from '../link/chunk-queue.ts'
import type { Link } from '../link/link.ts'
import type { Messages } from '../link/messages.gen.ts'
import { Pull } from '../link/pull.ts'
import { exactNumber, WireError } from '../link/wire.ts'

/** A file that is read in one piece. Larger ones are for `readStream`. */
const WHOLE_FILE_BYTES = 1024 * 1024 * 1024
const FIRST_BYTES = 64 * 1024
/** More credit than a channel starts with: bytes that are copied away at once need no small window. */
const EXTRA_CREDIT_BYTES = 1024 * 1024

/** What these have in common: Data until Done, and never more than was asked for. */
export type Download =
  | { readonly name: 'Read'; readonly message: Messages['Read'] }
  | { readonly name: 'CreateTar'; readonly message: Messages['CreateTar'] }
  | { readonly name: 'ListChanges'; readonly message: Messages['ListChanges'] }

function openDownload(link: Link, download: Download, handlers: ChannelHandlers): Channel {
  switch (download.name) {
    case 'Read':
      return link.open('Read', download.message, handlers)
    case 'CreateTar':
      return link.open('CreateTar', download.message, handlers)
    case 'ListChanges':
      return link.open('ListChanges', download.message, handlers)
  }
}

/** A download as a stream: the guest sends as the reader takes, and stops when the reader goes away. */
export async function* downloadStream(
  link: Link,
  download: Download,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  assertNotAborted(signal)
  const queue = new ChunkQueue()
  const order = new DownloadOrder(download)
  const chunks: Pull<Uint8Array> = new Pull({
    take: () => {
      const data = queue.take()?.data
      if (data !== undefined) channel.grant(data.length)
      return data
    },
    abandoned: () => channel.close(),
  })
  const channel = openDownload(link, download, {
    Entry: (entry) => order.entry(entry),
    Data: ({ bytes }, stable) => {
      order.data(bytes.length)
      if (bytes.length > 0) queue.push(0, bytes, stable)
      chunks.notify()
    },
    Done: () => {
      order.done()
      chunks.end(null)
    },
    ended: (error) => chunks.end(error),
    waitsForGuest: () => chunks.hungry,
  })
  const release = onAbort(signal, (error) => channel.fail(error))
  try {
    yield* chunks
  } finally {
    release()
    channel.close()
  }
}

/** A whole file in memory. */
export function downloadBytes(link: Link, message: Messages['Read'], signal?: AbortSignal): Promise<Uint8Array> {
  return new Promise((resolve, reject: (error: Failure) => void) => {
    assertNotAborted(signal)
    const order = new DownloadOrder({ name: 'Read', message })
    let target: Buffer = Buffer.alloc(0)
    let length = 0
    const ended = (error: Failure): void => {
      release()
      reject(error)
    }
    const channel = link.open('Read', message, {
      Entry: (entry) => {
        order.entry(entry)
        const available = exactNumber(entry.size, 'the size of a file') - Number(message.offset)
        const expected = Math.max(0, Math.min(available, Number(message.length)))
        if (expected > WHOLE_FILE_BYTES) return channel.fail(tooLarge())
        target = Buffer.allocUnsafeSlow(expected)
      },
      Data: ({ bytes }) => {
        order.data(bytes.length)
        if (length + bytes.length > WHOLE_FILE_BYTES) return channel.fail(tooLarge())
        if (length + bytes.length > target.length) target = enlarged(target, length, bytes.length)
        target.set(bytes, length)
        length += bytes.length
        channel.grant(bytes.length)
      },
      Done: () => {
        order.done()
        release()
        resolve(new Uint8Array(target.buffer, target.byteOffset, length))
      },
      ended,
    })
    channel.grant(EXTRA_CREDIT_BYTES)
    const release = onAbort(signal, (error) => channel.fail(error))
  })
}

/** The file grew while it was read, or has no size, as those of /proc. */
function enlarged(target: Buffer, length: number, more: number): Buffer {
  const size = Math.min(WHOLE_FILE_BYTES, Math.max(FIRST_BYTES, target.length * 2, length + more))
  const larger = Buffer.allocUnsafeSlow(size)
  target.copy(larger, 0, 0, length)
  return larger
}

function tooLarge(): HearthError {
  return new HearthError('file_failed', `the file is larger than ${WHOLE_FILE_BYTES} bytes`, {
    suggestion: 'Read it with `readStream`, or a part of it with `offset` and `length`.',
  })
}

/** Checks that the messages of a download come in their order and number. */
class DownloadOrder {
  #begun: boolean
  #left: bigint

  constructor(download: Download) {
    this.#begun = download.name !== 'Read'
    this.#left = download.name === 'Read' ? download.message.length : 2n ** 64n - 1n
  }

  entry(entry: Messages['Entry']): void {
    if (this.#begun) throw new WireError('a second Entry in a download')
    exactNumber(entry.size, 'the size of a file')
    this.#begun = true
  }

  data(bytes: number): void {
    if (!this.#begun) throw new WireError('Data before the Entry of its file')
    this.#left -= BigInt(bytes)
    if (this.#left < 0n) throw new WireError('more bytes than were asked for')
  }

  done(): void {
    if (!this.#begun) throw new WireError('a download without an Entry')
  }
}
