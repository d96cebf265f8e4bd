import type { Readable, Writable } from 'node:stream'
import type { SearchTime } from '../secrets/search-time.ts'
import { PartTurns } from './part-turns.ts'
import { refuse } from './refusal.ts'

/** What is done with each part on its way. It may throw, and then nothing of that part is passed on. */
export interface Filter {
  write(chunk: Buffer): Buffer
  end(): Buffer
}

/**
 * Moves a body, no faster than it is taken. `ended` when all of it was handed over, `closed` when the sink takes no more. The sink is not
 * ended: trailers may follow. What is searched too slowly waits for its turn.
 */
export function pump(
  source: Readable,
  sink: Writable,
  filter: Filter | null,
  time: SearchTime,
): Promise<'ended' | 'closed'> {
  const { promise, resolve, reject } = Promise.withResolvers<'ended' | 'closed'>()
  const pass = (chunk: Buffer): boolean => chunk.length === 0 || sink.write(chunk)
  const guarded = (step: () => void) => (): void => {
    try {
      step()
    } catch (error) {
      fail(error)
    }
  }
  const turns = new PartTurns(source, {
    waitMs: () => (filter === null ? 0 : time.waitMs),
    take: (chunk) =>
      guarded(() => {
        if (!pass(filter === null ? chunk : filter.write(chunk)) && !sink.writableEnded) source.pause()
      })(),
    end: guarded(() => {
      if (filter !== null) pass(filter.end())
      finish('ended')
    }),
  })
  const { onData, onEnd, resume: onDrain } = turns
  const onSinkClose = (): void => finish('closed')
  const onSourceClose = (): void => {
    if (!turns.isOver) fail(new Error('the body broke off'))
  }
  const detach = (): void => {
    turns.stop()
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
  else if (source.destroyed) fail(source.errored ?? new Error('the body broke off'))
  else {
    sink.on('drain', onDrain).on('close', onSinkClose)
    source.on('error', fail).on('close', onSourceClose).on('end', onEnd).on('data', onData).resume()
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
  source.resume()
}

/** What is allowed while a body is kept. */
export interface Keeping {
  /** Called for each part before it is kept; it may throw. */
  readonly claim: (bytes: number) => void
  readonly idleMs: number
}

/** The whole body, or null when it is longer; what was read of it is put back then. */
export async function readWhole(source: Readable, limit: number, keeping: Keeping): Promise<Buffer | null> {
  const { bytes, ended } = await readStart(source, limit, keeping, () => false)
  return ended ? bytes : null
}

/** The first bytes of a body: until they are enough, more than the limit, or all. Unless they are all, they are put back for who reads on. */
export function readStart(
  source: Readable,
  limit: number,
  { claim, idleMs }: Keeping,
  enough: (bytes: Buffer) => boolean,
): Promise<{ readonly bytes: Buffer; readonly ended: boolean }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ bytes: Buffer; ended: boolean }>()
  const chunks: Buffer[] = []
  let length = 0
  let tried = 0
  const idle = setTimeout(() => fail(refuse('malformed', 'the body stood still for too long')), idleMs)
  const take = (chunk: Buffer): void => {
    idle.refresh()
    claim(chunk.length)
    chunks.push(chunk)
    length += chunk.length
    // Tried at each doubling only: a body that comes byte by byte must not cost more than its size.
    if (length <= limit && (length < 2 * tried || !enough(Buffer.concat(chunks)))) {
      tried = length < 2 * tried ? tried : length
      return
    }
    detach()
    source.pause()
    const bytes = Buffer.concat(chunks)
    source.unshift(bytes)
    resolve({ bytes, ended: false })
  }
  const fail = (error: unknown): void => {
    detach()
    reject(error instanceof Error ? error : new Error(String(error)))
  }
  const onData = (chunk: Buffer): void => {
    try {
      take(chunk)
    } catch (error) {
      fail(error)
    }
  }
  const onEnd = (): void => {
    detach()
    resolve({ bytes: Buffer.concat(chunks), ended: true })
  }
  const onClose = (): void => fail(new Error('the body broke off'))
  const detach = (): void => {
    clearTimeout(idle)
    source.off('data', onData).off('end', onEnd).off('error', fail).off('close', onClose)
  }
  if (source.readableEnded) onEnd()
  else if (source.destroyed) fail(source.errored ?? new Error('the body broke off'))
  else source.on('error', fail).on('close', onClose).on('end', onEnd).on('data', onData).resume()
  return promise
}
