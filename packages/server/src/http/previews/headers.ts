import type { IncomingMessage } from 'node:http'

export const KEY_HEADER = 'x-hearth-key'
export const LINK_PARAMETER = 'hearth_link'
export const LINK_COOKIE = 'hearth_preview'
/** Followed by a token and `/`: everything below is for the program behind the port that the token opens. */
export const LINK_PATH = '/preview/'

/** They belong to one connection and end with it. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** What a client could say about itself that only this server may say, and what this server has dealt with already. */
const OURS = new Set([
  KEY_HEADER,
  'host',
  'expect',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'e2b-sandbox-id',
  'e2b-sandbox-port',
  'e2b-traffic-access-token',
])

/** A key, whatever header a client may have put it into, also spelt in hexadecimal digits for a client of E2B. */
const KEY_VALUE = /hearth_key_|6865617274685f6b65795f/i

/** Would act on the origin of the API, which a program in a sandbox has no say over. */
const OF_THE_ORIGIN =
  /^(set-cookie|access-control-.*|service-worker-allowed|clear-site-data|strict-transport-security|alt-svc|content-security-policy)$/

/** `host`: the program has a host name of its own. `path`, with a key, and `link`, with a token in the path: it has a path on the origin of the API. */
export type PreviewMode = 'host' | 'path' | 'link'

/** What a client has called, as a program is told. */
export interface Called {
  readonly host: string
  readonly scheme: 'http' | 'https'
}

/**
 * Headers for the program in the sandbox. SAFETY: no key and no cookie of ours is ever among them, since what runs there is
 * hostile and the caller's key is worth more than the sandbox.
 */
export function requestHeaders(
  incoming: IncomingMessage,
  mode: PreviewMode,
  host: string,
  called: Called,
): [string, string][] {
  const dropped = connectionOptions(incoming.headers.connection)
  const kept: [string, string][] = [['host', host]]
  for (const [name, value] of pairs(incoming.rawHeaders)) {
    const lower = name.toLowerCase()
    if (HOP_BY_HOP.has(lower) || OURS.has(lower) || dropped.has(lower)) continue
    if (lower === 'authorization' && mode === 'path') continue
    if (lower === 'sec-websocket-protocol') {
      const others = listed(value).filter((protocol) => !protocol.startsWith('hearth-key.'))
      if (others.length > 0) kept.push([name, others.join(', ')])
    } else if (lower === 'cookie') {
      const others = mode === 'host' ? otherCookies(value) : ''
      if (others !== '') kept.push([name, others])
    } else if (!KEY_VALUE.test(value)) kept.push([name, value])
  }
  kept.push(['x-forwarded-host', called.host], ['x-forwarded-proto', called.scheme])
  return kept
}

/**
 * What keeps pages of a program away from the origin of the API. SAFETY: scripts of a page that a link opens run with no origin at all: they
 * reach neither storage nor workers of it, and whatever they ask for is asked without a key.
 */
const CONFINED: Readonly<Record<PreviewMode, readonly string[]>> = {
  host: [],
  path: ['content-security-policy', 'sandbox', 'x-content-type-options', 'nosniff'],
  link: [
    'content-security-policy',
    'sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads',
    'x-content-type-options',
    'nosniff',
    'referrer-policy',
    'no-referrer',
    'access-control-allow-origin',
    '*',
    'access-control-expose-headers',
    '*',
  ],
}

/** Headers for the client, flat. A program in a sandbox speaks for its own host name and for nothing else. */
export function responseHeaders(upstream: IncomingMessage, mode: PreviewMode): string[] {
  const dropped = connectionOptions(upstream.headers.connection)
  const kept: string[] = []
  for (const [name, value] of pairs(upstream.rawHeaders)) {
    const lower = name.toLowerCase()
    if (HOP_BY_HOP.has(lower) || dropped.has(lower)) continue
    if (mode !== 'host' && OF_THE_ORIGIN.test(lower)) continue
    if (mode === 'link' && lower === 'referrer-policy') continue
    if (lower === 'set-cookie') {
      if (!value.trimStart().startsWith(`${LINK_COOKIE}=`)) kept.push(name, value.replaceAll(/;\s*domain=[^;]*/gi, ''))
    } else kept.push(name, value)
  }
  return [...kept, ...CONFINED[mode]]
}

export function cookieValue(header: string | undefined, name: string): string | null {
  for (const cookie of (header ?? '').split(';')) {
    const [found, ...value] = cookie.trim().split('=')
    if (found === name) return value.join('=')
  }
  return null
}

function otherCookies(header: string): string {
  const cookies = header.split(';').map((cookie) => cookie.trim())
  return cookies.filter((cookie) => cookie !== '' && cookie.split('=')[0]?.trim() !== LINK_COOKIE).join('; ')
}

function connectionOptions(header: string | undefined): ReadonlySet<string> {
  return new Set(listed(header ?? '').map((option) => option.toLowerCase()))
}

function listed(value: string): string[] {
  return value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}

function pairs(raw: readonly string[]): [string, string][] {
  const found: [string, string][] = []
  for (let index = 0; index + 1 < raw.length; index += 2) found.push([raw[index] ?? '', raw[index + 1] ?? ''])
  return found
}
