import { AsyncLocalStorage } from 'node:async_hooks'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { duplexPair, type Duplex } from 'node:stream'
import { connect as connectTls, rootCertificates } from 'node:tls'
import type { BashOptions } from 'just-bash'
import type { Meter } from '../../gateway/guest-stream.ts'
import { normalName } from '../../gateway/policy/host-name.ts'
import type { MachineNetwork } from '../../machine/machine.ts'

type Fetch = NonNullable<BashOptions['fetch']>
type FetchOptions = NonNullable<Parameters<Fetch>[1]>
type Fetched = Awaited<ReturnType<Fetch>>

const TIMEOUT_MS = 30_000
const BODY_BYTES = 64 * 1024 * 1024
const REDIRECTS = 20
const REDIRECT_STATUS = [301, 302, 303, 307, 308]

/** How the shell's `curl` reaches names: through the gateway, as programs on other rungs do. */
export function gatewayFetch(network: MachineNetwork, process: number, scope: number): Fetch {
  // The shell forbids much to code that runs on behalf of a script; this is not the script's code.
  const outside = AsyncLocalStorage.snapshot()
  return (address, options = {}) => outside(() => fetchAll(network, { process, scope }, address, options))
}

async function fetchAll(
  network: MachineNetwork,
  caller: Caller,
  address: string,
  options: FetchOptions,
): Promise<Fetched> {
  const limit = options.followRedirects === false ? 0 : Math.min(options.maxRedirects ?? REDIRECTS, REDIRECTS)
  let request: Request = { url: new URL(address), method: options.method ?? 'GET', body: options.body }
  for (let redirects = 0; ; redirects++) {
    const fetched = await fetchOnce(network, caller, request, options)
    const location = fetched.headers['location']
    if (!REDIRECT_STATUS.includes(fetched.status) || location === undefined || limit === 0) return fetched
    if (redirects === limit) throw new Error(`Maximum (${limit}) redirects followed`)
    const plain = fetched.status === 303 || (fetched.status < 303 && request.method === 'POST')
    const url = new URL(location, request.url)
    request = plain ? { url, method: 'GET', body: undefined } : { ...request, url }
  }
}

/** The command, and in whose network it is: 0 for that of the machine. */
interface Caller {
  readonly process: number
  readonly scope: number
}

interface Request {
  readonly url: URL
  readonly method: string
  readonly body: string | undefined
}

async function fetchOnce(
  network: MachineNetwork,
  caller: Caller,
  { url, method, body }: Request,
  options: FetchOptions,
): Promise<Fetched> {
  const name = normalName(url.hostname)
  if (name === null || !/^https?:$/.test(url.protocol)) throw new Error(`Could not resolve host: ${url.hostname}`)
  const secure = url.protocol === 'https:'
  const stream = connect(network, name, url.port === '' ? (secure ? 443 : 80) : Number(url.port), caller)
  const timeout = AbortSignal.timeout(Math.min(options.timeoutMs ?? TIMEOUT_MS, TIMEOUT_MS))
  const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal])
  const abort = (): void => void stream.destroy(new Error('the request was given up'))
  signal.addEventListener('abort', abort, { once: true })
  try {
    const socket = secure ? openTls(stream, name, network.authority) : stream
    const response = await send(socket, url, method, body, new Headers(options.headers))
    const content = await collect(response)
    const headers = Object.fromEntries(Object.entries(response.headers).map(([key, value]) => [key, String(value)]))
    const { statusCode = 0, statusMessage = '' } = response
    return { status: statusCode, statusText: statusMessage, headers, body: content, url: url.href }
  } finally {
    signal.removeEventListener('abort', abort)
    stream.destroy()
  }
}

/** The program's side of a connection. */
function connect({ gateway }: MachineNetwork, name: string, port: number, { process, scope }: Caller): Duplex {
  const { address, ports } = gateway.lookup(name, scope)
  if (address === 0) throw new Error(`Could not resolve host: ${name}`)
  const [inside, outside] = duplexPair()
  inside.on('error', () => undefined)
  let opened = false
  const offered = new Uint16Array(new Uint8Array(ports).buffer)
  if (offered.includes(port)) {
    const take = (meter: Meter): Duplex => {
      opened = true
      count(inside, meter.sent.bind(meter))
      count(outside, meter.received.bind(meter))
      return outside
    }
    gateway.connect(name, port, process, take, scope)
  }
  if (!opened) throw new Error(`Failed to connect to ${name} port ${port}: Connection refused`)
  outside.once('close', () => inside.destroy(outside.errored ?? new Error('the connection was closed')))
  return inside
}

function count(stream: Duplex, counted: Meter['sent']): void {
  const write = stream._write.bind(stream)
  stream._write = (chunk: Buffer, encoding, done) => {
    counted(chunk.length)
    write(chunk, encoding, done)
  }
}

function openTls(stream: Duplex, servername: string, authority: string): Duplex {
  const ca = authority === '' ? undefined : [...rootCertificates, authority]
  return connectTls({ socket: stream, servername, ...(ca === undefined ? {} : { ca }) })
}

function send(
  socket: Duplex,
  url: URL,
  method: string,
  body: string | undefined,
  headers: Headers,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  socket.once('error', reject)
  const request = httpRequest({
    createConnection: () => socket,
    method,
    host: url.hostname,
    path: `${url.pathname}${url.search}`,
    headers: {
      host: url.host,
      'user-agent': 'curl/8',
      accept: '*/*',
      ...Object.fromEntries(headers),
      connection: 'close',
    },
  })
  request.once('response', resolve).once('error', reject)
  // A body is a string of bytes.
  request.end(body === undefined ? undefined : Buffer.from(body, 'latin1'))
  return promise
}

async function collect(response: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > BODY_BYTES) throw new Error(`the response has more than ${BODY_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
