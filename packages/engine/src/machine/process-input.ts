import { HearthError } from '@hearth/contract'
import type { Channel } from '../link/channel.ts'
import { sendBytes } from '../link/upload.ts'

/** Standard input of a process: writes one after the other, as the process takes them. */
export class ProcessInput {
  readonly #open: () => Promise<Channel>
  #channel: Promise<Channel> | null = null
  #last: Promise<void> = Promise.resolve()
  #closed = false

  /** `open` gives the channel that takes the bytes; it is called when there is something to send. */
  constructor(open: () => Promise<Channel>) {
    this.#open = open
  }

  write(data: string | Uint8Array): Promise<void> {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data
    return this.#next(async (channel) => {
      if (this.#closed) throw closedError()
      await sendBytes(channel, bytes)
      if (!channel.open) throw channel.failure ?? closedError()
    })
  }

  close(): Promise<void> {
    return this.#next(async (channel) => {
      if (!this.#closed) channel.sendEof()
      this.#closed = true
    })
  }

  /** Nobody here writes any more; what was written still reaches the process, whose input stays open. */
  release(): void {
    const opened = this.#channel
    if (opened === null) return
    void this.#last.then(async () => {
      // After the end of the input the guest ends the channel by itself.
      if (!this.#closed) (await opened.catch(() => null))?.closeWhenTaken()
    })
  }

  #next(step: (channel: Channel) => Promise<void>): Promise<void> {
    this.#channel ??= this.#open()
    const channel = this.#channel
    // A write that fails is reported to its caller; the next one finds out for itself.
    const result = this.#last.then(async () => await step(await channel))
    this.#last = result.catch(() => {})
    return result
  }
}

function closedError(): HearthError {
  return new HearthError('process_not_found', 'standard input of the process is closed', {
    suggestion: 'Spawn it with `stdin: "pipe"`, and write before it ends.',
  })
}
