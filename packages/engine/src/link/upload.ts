import type { HearthError } from '@hearth/contract'
import { assertNotAborted, onAbort } from './abort.ts'
import type { Channel } from './channel.ts'
import { type Link, REQUEST_TIMEOUT_MS, type RequestOptions } from './link.ts'
import type { Messages } from './messages.gen.ts'
import { WireError } from './wire.ts'

/** Requests that take Data until Eof, and the answer that ends each. */
const UPLOAD_ANSWERS = { Write: 'Entry', ExtractTar: 'Done', ApplyChanges: 'Done' } as const

type UploadRequest = keyof typeof UPLOAD_ANSWERS
type UploadAnswer<Name extends UploadRequest> = Messages[(typeof UPLOAD_ANSWERS)[Name]]

interface Progress {
  /** The guest waits for this side's own source. */
  sourceIsSlow: boolean
  /** Eof is sent. */
  complete: boolean
}

/** Sends content and waits for the answer. Whatever goes wrong on this side closes the channel, and the guest discards what it had. */
export async function upload<Name extends UploadRequest, Value>(
  link: Link,
  name: Name,
  message: Messages[Name],
  content: Uint8Array | AsyncIterable<Uint8Array>,
  accept: (answer: UploadAnswer<Name>) => Value,
  options: RequestOptions,
): Promise<Value> {
  assertNotAborted(options.signal)
  const answered = Promise.withResolvers<Value>()
  const progress: Progress = { sourceIsSlow: false, complete: false }
  const channel = link.open(
    name,
    message,
    {
      [UPLOAD_ANSWERS[name]]: (answer: UploadAnswer<Name>) => {
        if (!progress.complete) throw new WireError(`the guest confirmed a ${name} before it had all of it`)
        answered.resolve(accept(answer))
      },
      ended: (error: HearthError) => answered.reject(error),
      waitsForGuest: () => !progress.sourceIsSlow,
    },
    options.timeoutMs ?? REQUEST_TIMEOUT_MS,
  )
  const release = onAbort(options.signal, (error) => channel.fail(error))
  try {
    // The source's own failure must win over the one that closing the channel would bring.
    await Promise.race([sendAll(channel, content, progress), answered.promise])
    progress.complete = true
    channel.sendEof()
    return await answered.promise
  } finally {
    release()
    channel.close()
  }
}

async function sendAll(
  channel: Channel,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  progress: Progress,
): Promise<void> {
  if (content instanceof Uint8Array) return await sendBytes(channel, content)
  progress.sourceIsSlow = true
  for await (const bytes of content) {
    if (!channel.open) return
    progress.sourceIsSlow = false
    await sendBytes(channel, bytes)
    progress.sourceIsSlow = true
  }
  progress.sourceIsSlow = false
}

/** Sends as the credit allows; the bytes must not change before it resolves. Ends early, without an error, when the channel does: its opener hears of that by itself. */
export async function sendBytes(channel: Channel, bytes: Uint8Array): Promise<void> {
  let sent = 0
  while (sent < bytes.length && channel.open) {
    const count = channel.trySend(sent === 0 ? bytes : bytes.subarray(sent))
    if (count === 0) await channel.whenWritable()
    sent += count
  }
}
