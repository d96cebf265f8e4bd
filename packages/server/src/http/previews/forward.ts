import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { connect } from 'node:tls'
import { HearthError, type Port, type PortConnection, type Sandbox } from '@hearth/contract'
import type { Services } from '../app-env.ts'
import { requestHeaders, type PreviewMode } from './headers.ts'
import { PortDuplex } from './port-duplex.ts'
import { publicHost, publicScheme } from './public-address.ts'

export interface Forwarding {
  readonly services: Services
  readonly incoming: IncomingMessage
  readonly sandbox: Sandbox
  readonly port: number
  readonly path: string
  readonly mode: PreviewMode
  /** What the program is told as its host. Default: what the client has called it, or its own name. */
  readonly host?: string | null
  /** The program expects TLS. */
  readonly tls?: boolean
  /** Ends everything when the client has gone. */
  readonly signal: AbortSignal
}

/** A request to the program, on a connection of its own. Its body is not sent yet. */
export async function openUpstream(forwarding: Forwarding, upgrade: boolean): Promise<ClientRequest> {
  const { incoming, services, sandbox, port, path, mode, signal } = forwarding
  const duplex = new PortDuplex(await connectPort(sandbox.port(port), services.limits.previewConnectMs, signal))
  // Whoever reads or writes it hears of its errors as well.
  duplex.on('error', () => {})
  try {
    const called = mode === 'host' ? (incoming.headers.host ?? 'localhost') : `localhost:${port}`
    const request = httpRequest({
      method: incoming.method ?? 'GET',
      path,
      setHost: false,
      createConnection: () => (forwarding.tls === true ? encrypted(duplex) : duplex),
      maxHeaderSize: services.limits.headerBytes,
    })
    const forwarded = { host: forwardedHost(forwarding), scheme: publicScheme(services.preview) }
    for (const [name, value] of requestHeaders(incoming, mode, forwarding.host ?? called, forwarded))
      request.appendHeader(name, value)
    request.setHeader('connection', upgrade ? 'Upgrade' : 'close')
    if (upgrade) request.setHeader('upgrade', 'websocket')
    signal.addEventListener('abort', () => request.destroy(), { once: true })
    return request
  } catch (error) {
    duplex.destroy()
    throw new HearthError('invalid_request', 'the request cannot be passed on as it is', { cause: error })
  }
}

/** A connection that the program has so long to accept. */
export async function connectPort(port: Port, milliseconds: number, signal: AbortSignal): Promise<PortConnection> {
  const late = AbortSignal.timeout(milliseconds)
  try {
    return await port.connect({ signal: AbortSignal.any([signal, late]) })
  } catch (cause) {
    if (!late.aborted || signal.aborted) throw cause
    const message = `the program in the sandbox did not accept a connection in ${milliseconds} ms`
    throw new HearthError('timeout', message, { cause })
  }
}

/** A host name of a preview is passed by every proxy that leads to it; the one of the API is what the operator says it is. */
function forwardedHost({ services, incoming, mode }: Forwarding): string {
  return mode === 'host' ? (incoming.headers.host ?? '') : publicHost(services.preview, incoming)
}

/** SAFETY: a certificate of a program in the sandbox proves nothing, whoever signed it; the connection leads to its port alone. */
function encrypted(connection: Duplex): Duplex {
  return connect({ socket: connection, rejectUnauthorized: false })
}

/** What the program did wrong, as what the client is told. */
export function upstreamFailure(error: unknown): HearthError {
  if (HearthError.isInstance(error)) return error
  return new HearthError('port_refused', 'the program in the sandbox broke the connection or does not speak HTTP', {
    cause: error,
  })
}

export function answerTimeout(request: ClientRequest, milliseconds: number): () => void {
  const timer = setTimeout(() => {
    request.destroy(new HearthError('timeout', `the program in the sandbox did not answer in ${milliseconds} ms`))
  }, milliseconds)
  return () => clearTimeout(timer)
}
