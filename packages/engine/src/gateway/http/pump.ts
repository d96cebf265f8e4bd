import type { Readable, Writable } from 'node:stream'

/** What is done with each part on its way. It may throw, and then nothing of that part is passed on. */
export interface Filter {
  write(chunk: Buffer): Buffer
  end(): Buffer
}

/**
 * Moves a body, no faster than it is taken. `ended` when all of it was handed over, `closed` when the sink takes no more. The sink is not
 * ended: trailers may follow.
 */
export function pump(source: Readable, sink: Writable, filter: Filter | null): Promise<'ended' | 'closed'> {
  const { promise, resolve, reject } = Promise.withResolvers<'ended' | 'closed'>()
  const pass = (chunk: Buffer): boolean => chunk.length === 0 || sink.write(chunk)
  const guarded = (step: () => void) => (): void => {
    try {
      step()
    } catch (error) {
      fail(error)
    }
  }
  const onData = (chunk: Buffer): void =>
    guarded(() => {
      if (!pass(filter === null ? chunk : filter.write(chunk)) && !sink.writableEnded) source.pause()
    })()
  const onEnd = guarded(() => {
    if (filter !== null) pass(filter.end())
    finish('ended')
  })
  const onDrain = (): void => void source.resume()
  const onSinkClose = (): void => finish('closed')
  const onSourceClose = (): void => fail(new Error('the body broke off'))
  const detach = (): void => {
    source.off('data', onData).off('end', onEnd).off('error', fail).off('close', onSourceClose)
    sink.off('drain', onDrain).off('close', onSinkClose)
  }
  function finish(how: 'ended' | 'closed'): void {
    detach()
    if (how === 'closed') source.pause()
    resolve(how)
  }
  function fail(error: unknown): void {
    detach()
    source.pause()
    reject(error instanceof Error ? error : new Error(String(error)))
  }
  if (sink.destroyed || sink.closed) finish('closed')
  else if (source.readableEnded) onEnd()
  else if (source.destroyed) onSourceClose()
  else {
    sink.on('drain', onDrain).on('close', onSinkClose)
    source.on('error', fail).on('close', onSourceClose).on('end', onEnd).on('data', onData)
  }
  return promise
}

/** Throws away what still comes, up to a limit. */
export function discard(source: Readable, bytes: number): void {
  let left = bytes
  source.on('error', () => source.destroy())
  source.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) source.destroy()
  })
}

/** The whole body, or null when it is longer; what was read of it is put back then. */
export function readWhole(source: Readable, limit: number): Promise<Buffer | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | null>()
  const chunks: Buffer[] = []
  let length = 0
  const onData = (chunk: Buffer): void => {
    chunks.push(chunk)
    length += chunk.length
    if (length <= limit) return
    detach()
    source.pause()
    source.unshift(Buffer.concat(chunks))
    resolve(null)
  }
  const onEnd = (): void => {
    detach()
    resolve(Buffer.concat(chunks))
  }
  const onBroken = (): void => {
    detach()
    reject(new Error('the body broke off'))
  }
  const detach = (): void =>
    void source.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken)
  source.on('error', onBroken).on('close', onBroken).on('end', onEnd).on('data', onData)
  return promise
}
