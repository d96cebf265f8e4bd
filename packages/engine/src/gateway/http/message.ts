import type { Readable, Writable } from 'node:stream'

/** Headers in their order, doubles included. */
export type Header = readonly [name: string, value: string]
export type Headers = readonly Header[]

/** A request as it came in, before anything about it is believed. */
export interface Inbound {
  readonly version: '1.0' | '1.1' | '2'
  readonly method: string
  readonly target: string
  /** All that claim to say for whom it is: `Host`, and `:authority` in HTTP/2. */
  readonly authorities: readonly string[]
  readonly headers: Headers
  readonly body: Readable
  readonly hasBody: boolean
  readonly expectsContinue: boolean
  /** Complete when the body has ended. */
  trailers(): Headers
  readonly reply: Reply
}

/** The way back to the client. */
export interface Reply {
  readonly begun: boolean
  /** Takes the body; it is ended by `end`. */
  readonly sink: Writable
  /** `100 Continue`. Other answers ahead of the final one are not passed on. */
  proceed(): void
  /** `bodiless` when nothing follows. */
  begin(status: number, reason: string, headers: Headers, bodiless?: boolean): void
  end(trailers: Headers): void
  /** Nothing more comes: the client sees that the answer is not whole. */
  abort(): void
}

/** A request as it goes out. */
export interface Outgoing {
  readonly method: string
  readonly target: string
  readonly host: string
  readonly headers: Headers
  readonly hasBody: boolean
}

export interface UpstreamRequest {
  readonly sink: Writable
  readonly response: Promise<UpstreamResponse>
  /** Sent on a connection that had served another: the server may have closed it at that moment. */
  reused(): boolean
  end(trailers: Headers): void
  abort(): void
}

export interface UpstreamResponse {
  readonly status: number
  readonly reason: string
  readonly headers: Headers
  readonly body: Readable
  /** It ended with its head, as answers of gRPC do that are nothing but a failure. */
  readonly bodiless: boolean
  trailers(): Headers
}

/** Of Node's flat lists. */
export function pairs(raw: readonly string[]): Headers {
  const headers: Header[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) headers.push([raw[at] ?? '', raw[at + 1] ?? ''])
  return headers
}

export function flat(headers: Headers): string[] {
  return headers.flat()
}

export function valuesOf(headers: Headers, name: string): string[] {
  return headers.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value)
}

export function without(headers: Headers, ...names: readonly string[]): Headers {
  return headers.filter(([key]) => !names.includes(key.toLowerCase()))
}
