import type { IncomingMessage } from 'node:http'
import { HearthError } from '@hearth/contract'
import { clientGone } from '../operation.ts'
import { askForBody } from './expect-continue.ts'

export interface BodyBounds {
  readonly maximumBytes: number
  /** Between two pieces. */
  readonly idleMs: number
  /** From now to the end. Default: no bound. */
  readonly totalMs?: number
}

/** Refuses a body that says itself that it is too large, before a byte of it is read. */
export function checkDeclaredLength(incoming: IncomingMessage, maximumBytes: number): void {
  const declared = Number(incoming.headers['content-length'] ?? 0)
  if (declared > maximumBytes) throw tooLarge(maximumBytes)
}

/** The pieces of a body as they come. What is not read is drained by the server after its answer, or the connection ends. */
export async function* readBody(incoming: IncomingMessage, bounds: BodyBounds): AsyncGenerator<Buffer, void> {
  checkDeclaredLength(incoming, bounds.maximumBytes)
  askForBody(incoming)
  const pieces = incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  const deadline = bounds.totalMs === undefined ? Infinity : performance.now() + bounds.totalMs
  let length = 0
  try {
    for (;;) {
      const piece = await inTime(pieces.next(), Math.min(bounds.idleMs, deadline - performance.now()))
      if (piece.done === true) break
      length += piece.value.length
      if (length > bounds.maximumBytes) throw tooLarge(bounds.maximumBytes)
      yield piece.value
    }
    // A body without its end is a client that went away.
    if (!incoming.complete) throw clientGone()
  } catch (error) {
    throw HearthError.isInstance(error) ? error : clientGone()
  }
}

/** A whole body, for those that are small. */
export async function readWhole(incoming: IncomingMessage, bounds: BodyBounds): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of readBody(incoming, bounds)) pieces.push(piece)
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)
}

async function inTime<T>(promise: Promise<T>, milliseconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new HearthError('request_timeout', 'the body of the request came too slowly')),
      Math.max(0, milliseconds),
    )
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
    // When it was late, what it still brings is nobody's.
    promise.catch(() => {})
  }
}

function tooLarge(maximumBytes: number): HearthError {
  return new HearthError('body_too_large', `the body is larger than ${maximumBytes} bytes`, {
    context: { maximumBytes },
  })
}
