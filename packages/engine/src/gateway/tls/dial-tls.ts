import type { Socket } from 'node:net'
import { connect, createSecureContext, getCACertificates, type SecureContext, type TLSSocket } from 'node:tls'

const HANDSHAKE_MS = 15_000

const contexts = new Map<string, SecureContext>()

/** TLS to a server that proves to have the name: to the authorities that the host trusts, and to those that were given besides. */
export async function dialTls(
  socket: Socket,
  name: string,
  protocols: readonly string[],
  extraRoots: readonly string[],
): Promise<TLSSocket> {
  const secure = connect({
    socket,
    servername: name,
    ALPNProtocols: [...protocols],
    secureContext: contextFor(extraRoots),
    rejectUnauthorized: true,
  })
  // Also while nobody uses it, an error of its must not end the process.
  secure.on('error', () => secure.destroy())
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(() => reject(new Error('TLS was not opened in time')), HANDSHAKE_MS)
  const broken = (): void => reject(new Error('the server ended TLS'))
  secure.once('secureConnect', resolve).once('error', reject).once('close', broken)
  try {
    await promise
    return secure
  } catch (error) {
    secure.destroy()
    throw error
  } finally {
    clearTimeout(timer)
    secure.off('error', reject).off('close', broken)
  }
}

/** Reading hundreds of roots takes a while: once for each set of them. */
function contextFor(extraRoots: readonly string[]): SecureContext {
  const key = extraRoots.join('\n')
  let context = contexts.get(key)
  if (context === undefined) {
    const system = getCACertificates('system')
    const roots = system.length > 0 ? system : getCACertificates('bundled')
    context = createSecureContext({ ca: [...roots, ...extraRoots], minVersion: 'TLSv1.2' })
    if (contexts.size >= 8) contexts.clear()
    contexts.set(key, context)
  }
  return context
}
