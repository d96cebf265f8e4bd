import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { CertificateAuthority } from './authority.ts'

/** Answers the client's TLS as the server of this name would, with a certificate of the sandbox's own authority. */
export async function openTls(
  stream: Duplex,
  authority: CertificateAuthority,
  name: string,
  timeoutMs: number,
): Promise<TLSSocket> {
  const secureContext = await authority.contextFor(name)
  const socket = new TLSSocket(stream, { isServer: true, secureContext, ALPNProtocols: ['h2', 'http/1.1'] })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(() => reject(new Error('TLS was not opened in time')), timeoutMs)
  const broken = (): void => reject(new Error('the client ended TLS'))
  socket.once('secure', resolve).once('error', reject).once('close', broken)
  try {
    await promise
    // SAFETY: the handshake is done. Only a tls.Server clears this flag, and HTTP/2 waits for it; a server for each connection would cost more than TLS itself.
    Object.assign(socket, { secureConnecting: false })
    return socket
  } catch (error) {
    socket.on('error', () => socket.destroy()).destroy()
    throw error
  } finally {
    clearTimeout(timer)
    socket.off('error', reject).off('close', broken)
  }
}
