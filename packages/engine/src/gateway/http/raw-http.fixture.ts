import { once } from 'node:events'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { callbackify } from 'node:util'
import { CertificateAuthority } from '../tls/authority.ts'
import { listening } from './inspected.fixture.ts'
import type { Headers } from './message.ts'

/** A message as no library would write it: nothing of it is checked. */
export interface RawMessage {
  /** Pseudo-headers included where it is sent over HTTP/2. */
  readonly head: Headers
  /** The first line, over HTTP/1.1. */
  readonly line: string
  /** Heads of answers that come before it. */
  readonly ahead: readonly { readonly line: string; readonly head: Headers }[]
  readonly body: string
  readonly trailers: Headers
}

export type Version = 'http/1.1' | 'h2'

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const DATA = 0
const HEADERS = 1
const SETTINGS = 4
const ACKNOWLEDGED = 1
const END_STREAM = 1
const END_HEADERS = 4

export function frame(kind: number, flags: number, stream: number, data: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(data.length, 0, 3)
  head[3] = kind
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, data])
}

/** A block of headers without tables and without Huffman's code. */
export function literals(headers: Headers): Buffer {
  const text = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value, 'latin1')])
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]))
}

export function rawHttp1({ ahead, line, head, body, trailers }: RawMessage): Buffer {
  const lines = (headers: Headers): string => headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const before = ahead.map((one) => `${one.line}\r\n${lines(one.head)}\r\n`).join('')
  const rest = `${body.length.toString(16)}\r\n${body}\r\n0\r\n${lines(trailers)}\r\n`
  return Buffer.from(`${before}${line}\r\n${lines(head)}transfer-encoding: chunked\r\n\r\n${rest}`, 'latin1')
}

export function rawHttp2({ ahead, head, body, trailers }: RawMessage, stream: number): Buffer {
  const heads = [...ahead.map((one) => one.head), head].map((one) => frame(HEADERS, END_HEADERS, stream, literals(one)))
  const last = trailers.length === 0
  const end = last ? [] : [frame(HEADERS, END_HEADERS | END_STREAM, stream, literals(trailers))]
  return Buffer.concat([...heads, frame(DATA, last ? END_STREAM : 0, stream, Buffer.from(body)), ...end])
}

export interface RawServer {
  readonly port: number
  readonly root: string
  /** What every request is answered with from now on. */
  answer: RawMessage
  close(): void
}

/** A server that answers each request with the same bytes, as soon as its head is there. */
export async function startRawServer(offered: readonly Version[], answer: RawMessage): Promise<RawServer> {
  const authority = await CertificateAuthority.create()
  const server = createServer(
    { ALPNProtocols: [...offered], SNICallback: callbackify((name: string) => authority.contextFor(name)) },
    (socket) => {
      socket.on('error', () => socket.destroy())
      if (socket.alpnProtocol === 'h2') answerHttp2(socket, () => raw.answer)
      else answerHttp1(socket, () => raw.answer)
    },
  )
  server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1')
  const raw: RawServer = {
    port: await listening(server),
    root: authority.certificate,
    answer,
    close: () => void server.close(),
  }
  return raw
}

const HEAD = /^(?:GET|POST) [^]*?\r\n\r\n/m

function answerHttp1(socket: TLSSocket, answer: () => RawMessage): void {
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    for (let found = HEAD.exec(text); found !== null; found = HEAD.exec(text)) {
      text = text.slice(found.index + found[0].length)
      socket.write(rawHttp1(answer()))
    }
  })
}

function answerHttp2(socket: TLSSocket, answer: () => RawMessage): void {
  let bytes = Buffer.alloc(0)
  let begun = false
  socket.write(frame(SETTINGS, 0, 0))
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    if (!begun && bytes.length >= PREFACE.length) {
      bytes = bytes.subarray(PREFACE.length)
      begun = true
    }
    while (begun && bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
      const [kind, flags, stream] = [bytes[3], bytes[4] ?? 0, bytes.readUInt32BE(5)]
      bytes = bytes.subarray(9 + bytes.readUIntBE(0, 3))
      if (kind === SETTINGS && (flags & ACKNOWLEDGED) === 0) socket.write(frame(SETTINGS, ACKNOWLEDGED, 0))
      if (kind === HEADERS) socket.write(rawHttp2(answer(), stream))
    }
  })
}

/** The first bytes of a connection, with this as its first request. */
export function rawRequest(message: RawMessage, version: Version): Buffer {
  if (version === 'http/1.1') return rawHttp1(message)
  return Buffer.concat([Buffer.from(PREFACE), frame(SETTINGS, 0, 0), rawHttp2(message, 1)])
}

/** Long enough for what is said on the loopback. */
const SILENCE_MS = 60

/** Sends it on a connection of its own. What came back, as it was, until that holds what is awaited, or the other side has ended or fallen silent. */
export async function sendRaw(
  { port, root }: { readonly port: number; readonly root: string },
  name: string,
  version: Version,
  bytes: Buffer,
  { silenceMs = SILENCE_MS, awaited }: { silenceMs?: number; awaited?: string } = {},
): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, servername: name, ca: root, ALPNProtocols: [version] })
  let heard = ''
  socket.on('error', () => socket.destroy())
  await once(socket, 'secureConnect')
  const silence = setTimeout(() => socket.destroy(), silenceMs)
  socket.on('data', (chunk: Buffer) => {
    heard += chunk.toString('latin1')
    if (awaited !== undefined && heard.includes(awaited)) socket.destroy()
    silence.refresh()
  })
  if (bytes.length > 0) socket.write(bytes)
  else socket.end()
  await once(socket, 'close')
  clearTimeout(silence)
  return heard
}
