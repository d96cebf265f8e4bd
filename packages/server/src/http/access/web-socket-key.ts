import type { IncomingMessage } from 'node:http'
import { bearerToken } from './key-cache.ts'

/** The key of a handshake: in `Authorization`, or as a subprotocol where a client cannot set headers. */
export function webSocketToken(incoming: IncomingMessage): string {
  const { authorization } = incoming.headers
  const protocols = (incoming.headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim())
  const given = protocols.find((protocol) => protocol.startsWith('hearth-key.'))
  if (authorization === undefined && given !== undefined)
    return bearerToken(`Bearer ${given.slice('hearth-key.'.length)}`)
  return bearerToken(authorization)
}
