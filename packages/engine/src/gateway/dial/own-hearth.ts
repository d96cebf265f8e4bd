import type { Socket } from 'node:net'
import { duplexPair, type Duplex } from 'node:stream'

/** Hands one end of a connection within this process to the server, and gives the other as Node's HTTP client wants its sockets to be. */
export function dialOwnHearth(serve: (connection: Duplex) => void): Socket {
  const [client, server] = duplexPair()
  for (const stream of [client, server]) stream.on('error', () => undefined)
  endTogether(client, server)
  endTogether(server, client)
  serve(server)
  const same = (): Duplex => client
  const asked = { setTimeout: same, setKeepAlive: same, setNoDelay: same, ref: same, unref: same }
  // SAFETY: this is all that the client asks of a socket beyond a stream; it concerns a kernel and its timers, and there is neither.
  return Object.assign(client, asked) as unknown as Socket
}

/** What was sent whole is still read; otherwise the other end goes at once. */
function endTogether(gone: Duplex, other: Duplex): void {
  gone.once('close', () => {
    if (!gone.writableFinished || other.readableEnded) other.destroy()
    else other.once('end', () => other.destroy())
  })
}
