import { isIP, type Socket } from 'node:net'
import { connect } from 'node:tls'
import type { Dialer } from '@hearth/engine/dial'

export interface ConnectionOptions {
  readonly dialer: Dialer
  /** Networks that are not public and may be reached nevertheless. */
  readonly networks: readonly string[]
  readonly signal: AbortSignal
}

/** A connection for a URL to an address that was looked at, as those of sandboxes are; encrypted where the URL says so. */
export async function openConnection(url: URL, { dialer, networks, signal }: ConnectionOptions): Promise<Socket> {
  const secure = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port)
  const plain = await dialer.dial(host, port, { addresses: networks, signal })
  if (!secure) return plain
  try {
    return await encrypted(plain, host, signal)
  } catch (error) {
    plain.destroy()
    throw error
  }
}

async function encrypted(socket: Socket, host: string, signal: AbortSignal): Promise<Socket> {
  return await new Promise((resolve, reject) => {
    const secured = connect({ socket, host, ...(isIP(host) === 0 ? { servername: host } : {}) })
    const abandon = (): void => void secured.destroy(new Error('no handshake in time'))
    signal.addEventListener('abort', abandon, { once: true })
    secured.once('error', reject)
    secured.once('secureConnect', () => {
      signal.removeEventListener('abort', abandon)
      resolve(secured)
    })
  })
}
