import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { HearthError } from '@hearth/contract'
import { alreadySent, type AppContext, type Services } from '../app-env.ts'
import type { HttpLimits } from '../limits.ts'
import type { Operation } from '../operation.ts'
import { onceGone } from './event-stream.ts'
import { ResponseWriter } from './response-writer.ts'

/** What a browser must not take for a page of ours. */
export const INERT_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  'content-disposition': 'attachment',
  'cache-control': 'no-store',
} as const

export interface Download {
  readonly status: 200 | 206
  readonly headers: OutgoingHttpHeaders
  /** When known, fewer bytes than this are a failure that the client sees as a broken connection. */
  readonly length: number | null
  readonly content: (signal: AbortSignal) => AsyncIterable<Uint8Array>
}

/** A connection that is to be answered. */
interface Answering {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly operation: Operation
}

export async function answerWithBytes(context: AppContext, services: Services, download: Download): Promise<never> {
  const { incoming, outgoing } = context.env
  await sendBytes({ incoming, outgoing, operation: context.get('operation') }, services.limits, download)
  return alreadySent()
}

/** Streams content out. The status goes out with the first bytes, so that what fails before them is an ordinary error. */
export async function sendBytes(
  { incoming, outgoing, operation }: Answering,
  limits: Pick<HttpLimits, 'writeIdleMs'>,
  download: Download,
): Promise<void> {
  const headers = { ...download.headers, ...(download.length === null ? {} : { 'content-length': download.length }) }
  if (incoming.method === 'HEAD') return void outgoing.writeHead(download.status, headers).end()
  const stop = new AbortController()
  onceGone(operation, (reason) => stop.abort(reason))
  const writer = new ResponseWriter(outgoing, limits.writeIdleMs)
  const chunks = download.content(stop.signal)[Symbol.asyncIterator]()
  let next = await chunks.next()
  outgoing.writeHead(download.status, next.done === true ? { ...headers, 'content-length': 0 } : headers)
  let sent = 0
  try {
    for (; next.done !== true; next = await chunks.next()) {
      sent += next.value.length
      await writer.write(next.value)
    }
    if (download.length !== null && sent < download.length)
      throw new HearthError('conflict', 'the file became shorter while it was read')
    writer.end()
  } catch (error) {
    operation.failed(error)
    writer.destroy()
  } finally {
    await chunks.return?.()
  }
}
