import { assertNotAborted, onAbort } from '../link/abort.ts'
import { ChunkQueue } from '../link/chunk-queue.ts'
import type { Link } from '../link/link.ts'
import { Pull } from '../link/pull.ts'

/** What a guest with a kernel of its own hears of its processes, until the reader goes away. */
export async function* linkProcesses(link: Link, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  assertNotAborted(signal)
  const queue = new ChunkQueue()
  const chunks: Pull<Uint8Array> = new Pull({
    take: () => {
      const data = queue.take()?.data
      if (data !== undefined) channel.grant(data.length)
      return data
    },
    abandoned: () => channel.close(),
  })
  const channel = link.open(
    'WatchProcesses',
    {},
    {
      Data: ({ bytes }, stable) => {
        // From its first word on it may be silent as long as nothing happens.
        channel.limitSilence(0)
        if (bytes.length > 0) queue.push(0, bytes, stable)
        chunks.notify()
      },
      Done: () => chunks.end(null),
      ended: (error) => chunks.end(error),
    },
  )
  const release = onAbort(signal, (error) => channel.fail(error))
  try {
    yield* chunks
  } finally {
    release()
    channel.close()
  }
}
