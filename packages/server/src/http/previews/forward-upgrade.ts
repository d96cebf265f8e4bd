import { STATUS_CODES, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { answerTimeout, openUpstream, upstreamFailure, type Forwarding } from './forward.ts'
import { responseHeaders } from './headers.ts'

/** Passes a WebSocket through: after its handshake both sides are bytes, which nobody here reads. Gives the status that was sent. */
export async function forwardUpgrade(forwarding: Forwarding, socket: Duplex, head: Buffer): Promise<number> {
  const request = await openUpstream(forwarding, true)
  const done = answerTimeout(request, forwarding.services.limits.previewAnswerMs)
  try {
    const { answer, upstream, first } = await new Promise<{
      answer: IncomingMessage
      upstream: Duplex | null
      first: Buffer
    }>((resolve, reject) => {
      request.once('upgrade', (answer, upstream, first) => resolve({ answer, upstream, first }))
      request.once('response', (answer) => resolve({ answer, upstream: null, first: Buffer.alloc(0) }))
      request.once('error', reject)
      request.once('close', () => reject(new Error('the connection was closed')))
      request.end()
    })
    const status = answer.statusCode ?? 502
    socket.write(statusLine(status) + headerLines(answer, forwarding, upstream !== null))
    if (upstream === null) answer.pipe(socket)
    else join(socket, head, upstream, first)
    return status
  } catch (error) {
    request.destroy()
    throw upstreamFailure(error)
  } finally {
    done()
    request.on('error', () => {})
  }
}

function join(socket: Duplex, head: Buffer, upstream: Duplex, first: Buffer): void {
  const end = (): void => {
    socket.destroy()
    upstream.destroy()
  }
  for (const side of [socket, upstream]) side.once('close', end).on('error', end)
  if (first.length > 0) socket.write(first)
  if (head.length > 0) upstream.write(head)
  socket.pipe(upstream)
  upstream.pipe(socket)
}

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n`
}

/** Values come from a parser that lets no line end through. */
function headerLines(answer: IncomingMessage, { mode }: Forwarding, upgraded: boolean): string {
  const flat = responseHeaders(answer, mode)
  const lines: string[] = []
  for (let index = 0; index + 1 < flat.length; index += 2) lines.push(`${flat[index]}: ${flat[index + 1]}\r\n`)
  return `${lines.join('')}${upgraded ? 'upgrade: websocket\r\nconnection: Upgrade' : 'connection: close'}\r\n\r\n`
}
