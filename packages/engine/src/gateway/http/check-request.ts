import type { InspectedConnection } from '../connection.ts'
import { normalName } from '../policy/host-name.ts'
import { withoutHopByHop } from './hop-by-hop.ts'
import type { HttpLimits } from './limits.ts'
import { valuesOf, without, type Headers, type Inbound } from './message.ts'
import { refuse } from './refusal.ts'

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const METHOD = /^[A-Z]{1,32}$/
// eslint-disable-next-line no-control-regex -- what is not allowed in a value
const BAD_VALUE = /[\u0000-\u0008\u000a-\u001f\u007f]/
const TARGET = /^\/[\x21-\x7e]*$/
/** Of these there must not be two: each reader would take another one. */
const SINGLE = ['content-length', 'transfer-encoding', 'authorization', 'content-type', 'content-encoding', 'expect']

/** A request that has one reading, and is for the name of the connection. */
export interface CheckedRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Headers
  readonly hasBody: boolean
}

/** Throws `egress_refused` for everything else. */
export function checkRequest(inbound: Inbound, connection: InspectedConnection, limits: HttpLimits): CheckedRequest {
  const { method, headers } = inbound
  if (!METHOD.test(method)) throw refuse('malformed', 'the method is not one of HTTP')
  if (method === 'CONNECT') throw refuse('protocol_not_allowed', 'CONNECT would lead past the gateway')
  if (method === 'TRACE' || method === 'TRACK') throw refuse('method_not_allowed', `${method} is never passed on`)
  checkHeaders(headers, limits)
  checkFraming(inbound)
  const target = originForm(inbound, connection)
  const [authority, ...others] = inbound.authorities
  if (authority === undefined) throw refuse('malformed', 'the request does not say for which host it is')
  if (others.some((other) => other !== authority)) throw refuse('malformed', 'the request names more than one host')
  if (inbound.version !== '2' && others.length > 0) throw refuse('malformed', 'the request has more than one Host')
  checkAuthority(authority, connection)
  const passed: Headers = [...without(withoutHopByHop(headers), 'host'), ...trailersWanted(inbound)]
  return { method, target, headers: passed, hasBody: inbound.hasBody }
}

/** gRPC insists on it, and in HTTP/2 it may say nothing else. */
function trailersWanted({ version, headers }: Inbound): Headers {
  return version === '2' && valuesOf(headers, 'te').includes('trailers') ? [['te', 'trailers']] : []
}

function checkHeaders(headers: Headers, limits: HttpLimits): void {
  if (headers.length > limits.headerCount) throw refuse('malformed', `more than ${limits.headerCount} headers`)
  const bytes = headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0)
  if (bytes > limits.headerBytes) throw refuse('malformed', `headers of more than ${limits.headerBytes} bytes`)
  for (const [name, value] of headers) {
    if (!name.startsWith(':') && !TOKEN.test(name)) throw refuse('malformed', 'the name of a header is not one')
    if (BAD_VALUE.test(value)) throw refuse('malformed', `the header ${name} holds control characters`)
  }
  for (const name of SINGLE) {
    if (valuesOf(headers, name).length > 1) throw refuse('malformed', `the header ${name} is there twice`)
  }
}

function checkFraming({ headers, version }: Inbound): void {
  const [length] = valuesOf(headers, 'content-length')
  const [coding] = valuesOf(headers, 'transfer-encoding')
  if (length !== undefined && !/^\d{1,15}$/.test(length))
    throw refuse('malformed', 'the Content-Length is not a number')
  if (coding === undefined) return
  if (version !== '1.1') throw refuse('malformed', 'Transfer-Encoding is of HTTP/1.1 alone')
  if (length !== undefined) throw refuse('malformed', 'Content-Length and Transfer-Encoding contradict each other')
  if (coding.toLowerCase() !== 'chunked') throw refuse('malformed', 'the only Transfer-Encoding is chunked')
}

/** `/path?query`, also of `https://name/path?query`, as it is sent to proxies. */
function originForm(inbound: Inbound, connection: InspectedConnection): string {
  const { target } = inbound
  if (TARGET.test(target) && !target.includes('#')) return target
  if (target === '*' && inbound.method === 'OPTIONS') return target
  const absolute = /^(https?):\/\/([^/?#]+)(\/[\x21-\x7e]*)?$/i.exec(target)
  if (absolute === null || inbound.version === '2') throw refuse('malformed', 'the target of the request is not a path')
  const [, scheme = '', authority = '', path = '/'] = absolute
  if (scheme.toLowerCase() !== (connection.secure ? 'https' : 'http')) {
    throw refuse('name_mismatch', `the request is for another scheme, ${scheme}`)
  }
  checkAuthority(authority, connection)
  return path
}

function checkAuthority(authority: string, { name, port }: InspectedConnection): void {
  const [, host = '', given] = /^([^:@[\]]*)(?::(\d{1,5}))?$/.exec(authority) ?? []
  if (normalName(host) === name && (given === undefined || Number(given) === port)) return
  throw refuse(
    'name_mismatch',
    `the request is for ${authority.slice(0, 128)}, but the connection is to ${name}:${port}`,
  )
}
