import { valuesOf, type Headers } from './message.ts'

const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
])

/** What a message is read by is not taken away by naming it: its body would be read as another one than it is. */
const NEVER_NAMED = new Set([
  'content-length',
  'content-encoding',
  'content-type',
  'grpc-encoding',
  'connect-content-encoding',
])

/** What concerns two neighbours alone and is never passed on: the known ones, and those that `Connection` names. */
export function withoutHopByHop(headers: Headers): Headers {
  const named = new Set(
    valuesOf(headers, 'connection').flatMap((value) => value.split(',').map((name) => name.trim().toLowerCase())),
  )
  return headers.filter(([name]) => {
    const key = name.toLowerCase()
    return !key.startsWith(':') && !HOP_BY_HOP.has(key) && (!named.has(key) || NEVER_NAMED.has(key))
  })
}

/** Fields that say how a message is framed or for whom it is have no business in trailers. */
const NEVER_TRAILING = new Set([
  'content-length',
  'host',
  'authorization',
  'cookie',
  'set-cookie',
  'content-encoding',
  'content-type',
  'content-range',
])

export function allowedTrailers(headers: Headers): Headers {
  return withoutHopByHop(headers).filter(([name]) => !NEVER_TRAILING.has(name.toLowerCase()))
}
