/** What a client or a server may make the gateway hold or wait for. */
export interface HttpLimits {
  /** Of a head, names and values together. */
  readonly headerBytes: number
  readonly headerCount: number
  /** Requests of one HTTP/2 connection at one time. */
  readonly streams: number
  /** Requests that an HTTP/1.1 client sends without awaiting the answers. */
  readonly pipelined: number
  /** Until TLS is opened, and from the end of one request until the head of the next is whole. */
  readonly headMs: number
  readonly idleMs: number
  /** Bytes of a body that are read whole, because a secret goes into it or a signature covers it. */
  readonly bodyBytes: number
  /** The same of all such bodies of one sandbox at one time, and of all sandboxes. */
  readonly sandboxBodyBytes: number
  readonly allBodyBytes: number
  /** What is kept of packed bodies to unpack the rest of them, of one sandbox at one time, and of all sandboxes. */
  readonly sandboxWindowBytes: number
  readonly allWindowBytes: number
  /** How long a body that is read whole may stand still. */
  readonly bodyIdleMs: number
  /** Bytes of a body that are thrown away after a refusal before the connection is. */
  readonly discardBytes: number
}

export const HTTP_LIMITS: HttpLimits = {
  headerBytes: 64 * 1024,
  headerCount: 256,
  streams: 64,
  pipelined: 64,
  headMs: 120_000,
  idleMs: 900_000,
  bodyBytes: 4 * 1024 * 1024,
  sandboxBodyBytes: 32 * 1024 * 1024,
  allBodyBytes: 256 * 1024 * 1024,
  sandboxWindowBytes: 128 * 1024 * 1024,
  allWindowBytes: 512 * 1024 * 1024,
  bodyIdleMs: 60_000,
  discardBytes: 64 * 1024 * 1024,
}
