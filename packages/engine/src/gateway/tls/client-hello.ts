/** What the first flight of a TLS client says about where it wants to go. */
export type ClientHello =
  /** More bytes are needed. */
  | { readonly kind: 'incomplete' }
  /** Not TLS at all. */
  | { readonly kind: 'other' }
  | { readonly kind: 'malformed' }
  | {
      readonly kind: 'hello'
      /** As it was sent; null when there is none. */
      readonly serverName: string | null
      /** The true name may be encrypted, so that the one above proves nothing. */
      readonly encrypted: boolean
      readonly protocols: readonly string[]
    }

const HANDSHAKE = 22
const CLIENT_HELLO = 1
const RECORD_HEADER = 5
/** More than any client sends, also with post-quantum keys. */
export const CLIENT_HELLO_BYTES = 16 * 1024
const EXTENSION = { serverName: 0, protocols: 16, encryptedHello: 0xfe0d } as const

/** Reads a ClientHello from the first bytes of a connection; it may be split over records, as some clients do to hide it. */
export function readClientHello(bytes: Buffer): ClientHello {
  if (bytes.length === 0) return { kind: 'incomplete' }
  if (bytes[0] !== HANDSHAKE || (bytes.length > 1 && bytes[1] !== 3)) return { kind: 'other' }
  const handshake = joinRecords(bytes)
  if (handshake === null) return { kind: 'malformed' }
  if (handshake.length < 4) return incomplete(bytes)
  if (handshake[0] !== CLIENT_HELLO) return { kind: 'malformed' }
  const length = handshake.readUIntBE(1, 3)
  if (length > CLIENT_HELLO_BYTES) return { kind: 'malformed' }
  if (handshake.length < 4 + length) return incomplete(bytes)
  try {
    return parseHello(new Reader(handshake.subarray(4, 4 + length)))
  } catch (error) {
    if (error instanceof RangeError) return { kind: 'malformed' }
    throw error
  }
}

/** As many bytes tell one. */
export const OLD_HELLO_BYTES = 11

/** A hello in the form of SSL 2, which servers still take and which has no place for a name. */
export function isOldHello(bytes: Buffer): boolean {
  if (bytes.length < OLD_HELLO_BYTES || ((bytes[0] ?? 0) & 0x80) === 0 || bytes[2] !== CLIENT_HELLO) return false
  const version = bytes.readUInt16BE(3)
  const [ciphers, session, challenge] = [5, 7, 9].map((at) => bytes.readUInt16BE(at)) as [number, number, number]
  const length = bytes.readUInt16BE(0) & 0x7fff
  return (version === 2 || version >> 8 === 3) && ciphers % 3 === 0 && length === 9 + ciphers + session + challenge
}

function incomplete(bytes: Buffer): ClientHello {
  return bytes.length > CLIENT_HELLO_BYTES ? { kind: 'malformed' } : { kind: 'incomplete' }
}

/** The payload of all handshake records that are there; null when something else comes between them. */
function joinRecords(bytes: Buffer): Buffer | null {
  const parts: Buffer[] = []
  for (let at = 0; at + RECORD_HEADER <= bytes.length;) {
    if (bytes[at] !== HANDSHAKE) return parts.length === 0 ? null : Buffer.concat(parts)
    const length = bytes.readUInt16BE(at + 3)
    if (length === 0) return null
    parts.push(bytes.subarray(at + RECORD_HEADER, at + RECORD_HEADER + length))
    at += RECORD_HEADER + length
  }
  return Buffer.concat(parts)
}

function parseHello(reader: Reader): ClientHello {
  reader.take(2 + 32)
  reader.vector(1)
  reader.vector(2)
  reader.vector(1)
  const found = { serverName: null as string | null, encrypted: false, protocols: [] as string[] }
  if (reader.done) return { kind: 'hello', ...found }
  const extensions = new Reader(reader.vector(2))
  const seen = new Set<number>()
  while (!extensions.done) {
    const type = extensions.number(2)
    const body = new Reader(extensions.vector(2))
    // Two of a kind: whoever reads the other one goes elsewhere.
    if (seen.has(type)) return { kind: 'malformed' }
    seen.add(type)
    if (type === EXTENSION.serverName) {
      const names = new Reader(body.vector(2))
      if (names.number(1) !== 0) return { kind: 'malformed' }
      found.serverName = names.vector(2).toString('latin1')
      if (!names.done) return { kind: 'malformed' }
    } else if (type === EXTENSION.encryptedHello) found.encrypted = true
    else if (type === EXTENSION.protocols) {
      const list = new Reader(body.vector(2))
      while (!list.done) found.protocols.push(list.vector(1).toString('latin1'))
    }
  }
  return { kind: 'hello', ...found }
}

/** Throws RangeError beyond the end. */
class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length
  }

  take(count: number): Buffer {
    if (this.#at + count > this.#bytes.length) throw new RangeError('beyond the end')
    this.#at += count
    return this.#bytes.subarray(this.#at - count, this.#at)
  }

  number(size: number): number {
    return this.take(size).readUIntBE(0, size)
  }

  vector(size: number): Buffer {
    return this.take(this.number(size))
  }
}
