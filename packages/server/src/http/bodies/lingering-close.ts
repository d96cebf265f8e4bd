import type { IncomingMessage, ServerResponse } from 'node:http'

const LINGER_MS = 1000

/**
 * For an answer that comes before the body of its request has: the connection cannot be used again, but closing it at once would make
 * the kernel throw away the answer together with the bytes that still come. So it is half closed first, and what comes is thrown away.
 */
export function closeAfterAnswer(incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (incoming.complete || outgoing.headersSent) return
  outgoing.setHeader('connection', 'close')
  const { socket } = incoming
  socket.destroySoon = () => {
    socket.end()
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }
}
