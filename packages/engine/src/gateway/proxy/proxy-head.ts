import type { Refusal } from '@hearth/contract'

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** No control characters but tabs: above all no line ends of other kinds, which some readers take for one. */
const LINE = /^[\t\x20-\x7e\x80-\xff]*$/
const REQUEST_LINE = /^([A-Z]{1,32}) ([\x21-\x7e]+) HTTP\/1\.[01]$/
const AUTHORITY = /^([^:@[\]/?#]+)(?::(\d{1,5}))?$/
const HEADERS = 256
const PLAIN_PORT = 80

/** What a client asks a proxy for. `host` is as it was sent; `target` is the path with its query. */
export type ProxyRequest = Place & ({ readonly kind: 'tunnel' } | { readonly kind: 'request'; readonly target: string })

interface Place {
  readonly host: string
  readonly port: number
}

/** A head that is refused, and why. */
export interface BadHead {
  readonly kind: 'bad'
  readonly refusal: Refusal
  readonly message: string
}

/** Reads the head of a request to a proxy, without the empty line at its end. Everything that has more than one reading is refused. */
export function readProxyHead(head: string): ProxyRequest | BadHead {
  const [first = '', ...lines] = head.split('\r\n')
  if (![first, ...lines].every((line) => LINE.test(line))) return bad('the head holds control characters')
  if (lines.length > HEADERS) return bad(`more than ${HEADERS} headers`)
  const headers = lines.map((line) => headerOf(line))
  if (headers.includes(null)) return bad('the name of a header is not one')
  const [, method = '', target = ''] = REQUEST_LINE.exec(first) ?? []
  if (method === '') return bad('this is not a request of HTTP/1.1')
  const valuesOf = (wanted: string): string[] =>
    headers.flatMap((header) => (header?.name === wanted ? [header.value] : []))
  if (valuesOf('host').length > 1) return bad('the request has more than one Host')
  return method === 'CONNECT' ? tunnelOf(target, valuesOf) : requestOf(target)
}

function headerOf(line: string): { readonly name: string; readonly value: string } | null {
  const colon = line.indexOf(':')
  const name = line.slice(0, colon)
  return colon > 0 && TOKEN.test(name) ? { name: name.toLowerCase(), value: line.slice(colon + 1).trim() } : null
}

function tunnelOf(target: string, valuesOf: (name: string) => readonly string[]): ProxyRequest | BadHead {
  const [, host = '', port = ''] = AUTHORITY.exec(target) ?? []
  if (port === '') return bad('CONNECT wants NAME:PORT', target.startsWith('[') ? 'name_not_allowed' : 'malformed')
  if (valuesOf('transfer-encoding').length > 0 || valuesOf('content-length').some((length) => length !== '0'))
    return bad('CONNECT has no body')
  const [named] = valuesOf('host')
  if (named !== undefined && ![target, host].some((one) => one.toLowerCase() === named.toLowerCase()))
    return bad(`CONNECT is for ${target.slice(0, 128)}, but Host says something else`, 'name_mismatch')
  return isPort(Number(port)) ? { kind: 'tunnel', host, port: Number(port) } : bad('this is not a port')
}

/** Where to, no more: what the request is, and that its Host is no other, is for the reader at the other end of the connection. */
function requestOf(target: string): ProxyRequest | BadHead {
  const [, scheme = '', authority = '', rest = ''] = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]+)(.*)$/.exec(target) ?? []
  if (scheme === '') return bad('a proxy wants CONNECT, or a request for http://NAME/PATH')
  if (scheme.toLowerCase() !== 'http')
    return bad(`${scheme.slice(0, 32)} goes through a proxy by CONNECT alone`, 'protocol_not_allowed')
  const [, host = '', port] = AUTHORITY.exec(authority) ?? []
  if (host === '') return bad('the address is not http://NAME/PATH', 'name_not_allowed')
  const number = port === undefined ? PLAIN_PORT : Number(port)
  if (!isPort(number)) return bad('this is not a port')
  return { kind: 'request', host, port: number, target: rest.startsWith('/') ? rest : `/${rest}` }
}

function isPort(number: number): boolean {
  return number >= 1 && number <= 65_535
}

function bad(message: string, refusal: Refusal = 'malformed'): BadHead {
  return { kind: 'bad', refusal, message }
}
