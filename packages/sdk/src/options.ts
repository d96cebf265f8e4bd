import { HearthError } from './hearth-error.ts'
import type { Connection, WebSocketConstructor } from './sandboxes/sandbox-client.ts'
import { HttpClient } from './transport/http-client.ts'

const DEFAULT_URL = 'http://127.0.0.1:7070'
const DEFAULT_TIMEOUT_MS = 60_000
const DEFAULT_RETRIES = 3
const DEFAULT_RECONNECT_MS = 60_000

export interface HearthOptions {
  /** Default `HEARTH_URL`, or the address of a server on this machine. */
  readonly url?: string
  /** Default `HEARTH_API_KEY`. */
  readonly apiKey?: string
  /** Another `fetch` than the global one. */
  readonly fetch?: typeof globalThis.fetch
  /** For `port().connect()` where there is no global one, as on Node 20. */
  readonly WebSocket?: WebSocketConstructor
  /** For calls that do not wait for something in a sandbox. Default 60 seconds. */
  readonly timeoutMs?: number
  /** How often a call that can be repeated safely is repeated. Default 3. */
  readonly retries?: number
  /** How long streams of output, changes and events are taken up again after they broke. Default 60 seconds. */
  readonly reconnectMs?: number
}

export function openConnection(options: HearthOptions): Connection {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, retries = DEFAULT_RETRIES, reconnectMs = DEFAULT_RECONNECT_MS } = options
  for (const [name, value] of Object.entries({ timeoutMs, retries, reconnectMs })) {
    if (!(value >= 0)) throw new HearthError('invalid_request', `${name}: must be a number that is not negative`)
  }
  const http = new HttpClient({
    url: baseUrl(options.url ?? environment('HEARTH_URL') ?? DEFAULT_URL),
    apiKey: checkedKey(options.apiKey ?? environment('HEARTH_API_KEY') ?? null),
    // Looked up at each call, so that one that is replaced later is used, as in tests of the caller's own.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    timeoutMs,
    retries,
  })
  const global = (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket
  return { http, reconnectMs, WebSocket: options.WebSocket ?? global ?? null }
}

function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new HearthError('invalid_request', `url: ${JSON.stringify(text)} is not the address of a server`, {
      suggestion: `Set \`url\` or \`HEARTH_URL\` to something like ${DEFAULT_URL}.`,
    })
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new HearthError('invalid_request', 'url: must have neither credentials nor a query', {
      suggestion: 'Give the key as `apiKey` or `HEARTH_API_KEY`.',
    })
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

function checkedKey(key: string | null): string | null {
  if (key === null || key === '') return null
  if (/^[\x21-\x7e]+$/.test(key)) return key
  throw new HearthError('invalid_request', 'apiKey: has characters that no key has')
}

/** Node, Bun and Deno all have `process`; a browser has no environment. */
function environment(name: string): string | undefined {
  const value = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name]
  return value === '' ? undefined : value
}
