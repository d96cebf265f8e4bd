import type { Duplex } from 'node:stream'
import { HTTP_METHODS } from '@hearth/contract'
import { isSocks } from './socks.ts'
import {
  CLIENT_HELLO_BYTES,
  isOldHello,
  OLD_HELLO_BYTES,
  readClientHello,
  type ClientHello,
} from './tls/client-hello.ts'

/** From the first byte on, a client has this long to say what it speaks. */
const FIRST_BYTES_MS = 10_000
/** A request line that is longer is none. */
const FIRST_LINE_BYTES = 16 * 1024

/** What a client begins with. */
export type Opening =
  | Extract<ClientHello, { kind: 'hello' | 'malformed' }>
  /** A request of HTTP in plain text. */
  | { readonly kind: 'http' }
  /** The greeting of a SOCKS client. */
  | { readonly kind: 'socks' }
  | { readonly kind: 'other' }
  /** It ended, or was ended, without a byte. */
  | { readonly kind: 'nothing' }

/**
 * Looks at the first bytes of a stream, which stay in it. `unheard` resolves when it need no longer be waited for: the server has spoken
 * first, as none does that speaks TLS or HTTP.
 */
export async function readOpening(stream: Duplex, unheard: Promise<unknown>): Promise<Opening> {
  let seen: Buffer = Buffer.alloc(0)
  let deadline: NodeJS.Timeout | undefined
  const silent = unheard.then(() => 'unheard' as const)
  const late = Promise.withResolvers<'late'>()
  try {
    for (;;) {
      const opening = classify(seen)
      if (opening !== null) return opening
      const event = await Promise.race([readable(stream), late.promise, ...(seen.length === 0 ? [silent] : [])])
      if (event === 'late') return { kind: 'malformed' }
      if (event === 'unheard') return { kind: 'other' }
      const chunk = event === 'readable' ? (stream.read() as Buffer | null) : null
      if (chunk === null) {
        if (event === 'readable' && !stream.readableEnded && !stream.destroyed) continue
        // What has begun and is broken off is not passed on as if it were whole.
        return seen.length === 0 ? { kind: 'nothing' } : { kind: 'malformed' }
      }
      deadline ??= setTimeout(() => late.resolve('late'), FIRST_BYTES_MS)
      seen = Buffer.concat([seen, chunk])
    }
  } finally {
    clearTimeout(deadline)
    if (seen.length > 0 && !stream.destroyed && !stream.readableEnded) stream.unshift(seen)
  }
}

export function readable(stream: Duplex): Promise<'readable' | 'ended'> {
  return new Promise((resolve) => {
    const settle = (event: 'readable' | 'ended') => (): void => {
      stream.off('readable', onReadable)
      stream.off('end', onEnd)
      stream.off('close', onEnd)
      resolve(event)
    }
    const onReadable = settle('readable')
    const onEnd = settle('ended')
    stream.once('readable', onReadable)
    stream.once('end', onEnd)
    stream.once('close', onEnd)
    if (stream.destroyed || stream.readableEnded) onEnd()
  })
}

/** Null when more bytes are needed to tell. */
function classify(bytes: Buffer): Opening | null {
  if (bytes.length === 0) return null
  const hello = readClientHello(bytes)
  if (hello.kind === 'incomplete') return bytes.length > CLIENT_HELLO_BYTES ? { kind: 'malformed' } : null
  if (hello.kind !== 'other') return hello
  if (isOldHello(bytes)) return NAMELESS
  const socks = isSocks(bytes)
  if (socks !== false) return socks === null ? null : { kind: 'socks' }
  return classifyText(bytes)
}

const NAMELESS = { kind: 'hello', serverName: null, encrypted: false, protocols: [] } as const

/** Anything that begins like one of these may become a request. Some servers skip empty lines before it, and some do not mind the case. */
const METHODS = [...HTTP_METHODS, 'TRACE', 'CONNECT', 'PRI'] as const

function classifyText(bytes: Buffer): Opening | null {
  const judged = judgeLine(bytes)
  if (judged === 'request') return { kind: 'http' }
  if (judged === 'endless') return { kind: 'malformed' }
  if (judged === 'none') return { kind: 'other' }
  const word = textOf(bytes).split(/[ \t]/, 1)[0]?.toUpperCase() ?? ''
  return METHODS.some((method) => method.startsWith(word)) ? null : { kind: 'other' }
}

/** The first line, after empty ones; null while it may go on. One that is `endless` may be a request, whose end and host nobody here has seen. */
function judgeLine(bytes: Buffer): 'request' | 'endless' | 'none' | null {
  if (emptyLines(bytes) >= FIRST_LINE_BYTES) return 'endless'
  const text = textOf(bytes)
  const end = text.indexOf('\n')
  if (end >= 0) return /[ \t]HTTP\/\d/i.test(text.slice(0, end)) ? 'request' : 'none'
  if (text.length < FIRST_LINE_BYTES) return null
  return /^[!#$%&'*+.^_`|~0-9a-z-]{1,64}[ \t]+(\/|\*|[a-z][a-z0-9+.-]*:)/i.test(text) ? 'endless' : 'none'
}

function textOf(bytes: Buffer): string {
  const from = emptyLines(bytes)
  return bytes.toString('latin1', from, from + FIRST_LINE_BYTES)
}

/** How many bytes of them stand before everything else. */
function emptyLines(bytes: Buffer): number {
  const first = bytes.findIndex((byte) => byte !== 0x0d && byte !== 0x0a)
  return first < 0 ? bytes.length : first
}

/**
 * Is shown the bytes that are passed and did not look like HTTP: calls back when they turn out to be a request
 * or a hello, whose name was never checked.
 */
export function firstLineWatch(found: () => void): (chunk: Uint8Array) => void {
  let seen: Buffer | null = Buffer.alloc(0)
  return (chunk) => {
    if (seen === null) return
    seen = Buffer.concat([seen, chunk])
    const judged = judgeLine(seen)
    const isHello = isOldHello(seen)
    if (!isHello && (judged === null || seen.length < OLD_HELLO_BYTES)) return
    seen = null
    if (isHello || judged !== 'none') found()
  }
}
