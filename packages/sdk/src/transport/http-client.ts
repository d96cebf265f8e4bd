import { HearthError, assertNotAborted } from '../hearth-error.ts'
import { Answer, SILENCE_MS } from './answer.ts'
import { Cancellation, pause } from './cancellation.ts'
import { networkFailure, statusFailure } from './failures.ts'
import { retryDelayMs } from './retry.ts'
import { ServerClock } from './server-clock.ts'

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below `/v1`, each part already escaped. */
  readonly path: string
  /** A list is a parameter that is repeated. */
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly json?: unknown
  readonly body?: Uint8Array | ReadableStream<Uint8Array>
  readonly signal?: AbortSignal | undefined
  /** True when sending it twice does no harm. Default: for GET. */
  readonly repeatable?: boolean
  /** For the whole call, or until the answer begins where its body is a stream; null for one that waits for something in the sandbox. Default: the client's. */
  readonly timeoutMs?: number | null
}

/** What every call of this package takes. */
export interface CallOptions {
  readonly signal?: AbortSignal
}

export interface HttpClientOptions {
  readonly url: string
  readonly apiKey: string | null
  readonly fetch: typeof globalThis.fetch
  readonly timeoutMs: number
  readonly retries: number
}

/** Sends requests, and gives back an answer or throws a typed error. */
export class HttpClient {
  readonly #options: HttpClientOptions
  readonly #clock = new ServerClock()

  constructor(options: HttpClientOptions) {
    this.#options = options
  }

  /** Sends the call; an answer that is no success is thrown. Its body may take any time. */
  async send(call: Call): Promise<Answer> {
    return await this.#repeat(call, async (answer, cancellation) => {
      cancellation.inTime()
      return answer
    })
  }

  async json<Value>(call: Call): Promise<Value> {
    const silenceMs = call.timeoutMs === null ? SILENCE_MS : null
    // Only the type is taken on trust: the server is the caller's own, and what must hold is checked where it is used.
    return await this.#repeat(call, async (answer) => (await answer.json(silenceMs)) as Value)
  }

  /** For answers without content. */
  async done(call: Call): Promise<void> {
    await this.#repeat(call, async (answer) => void (await answer.bytes()))
  }

  urlOf(path: string, query: Call['query'] = {}): string {
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) {
      if (Array.isArray(value)) for (const item of value) parameters.append(name, String(item))
      else if (value !== undefined) parameters.set(name, String(value))
    }
    const text = parameters.toString()
    return `${this.#options.url}/v1${path}${text === '' ? '' : `?${text}`}`
  }

  /** The present time as the server sees it, in milliseconds. */
  serverTime(): number {
    return this.#clock.now()
  }

  /** What proves who calls, for requests that are not made here. */
  authorization(): Record<string, string> {
    return this.#options.apiKey === null ? {} : { authorization: `Bearer ${this.#options.apiKey}` }
  }

  /** A request to a program in a sandbox, below `base`: its answer, whatever it is, belongs to the caller. */
  async pass(base: string, path: string, init: RequestInit): Promise<Response> {
    const url = new URL(`${this.#options.url}/v1${base}${path}`)
    // SAFETY: the request carries the key, so that a path with dots in it must not reach anything but that program.
    if (!path.startsWith('/') || !url.href.startsWith(`${this.#options.url}/v1${base}/`)) {
      throw new HearthError('invalid_request', 'path: must begin with / and stay below it')
    }
    const headers = new Headers(init.headers)
    for (const [name, value] of Object.entries(this.authorization())) headers.set(name, value)
    const { fetch } = this.#options
    try {
      return await fetch(url, { redirect: 'manual', ...init, headers })
    } catch (error) {
      throw networkFailure(error, init.signal ?? undefined, url.href)
    }
  }

  /** The same as subprotocols, since a standard WebSocket cannot set headers. */
  webSocketProtocols(): string[] {
    return this.#options.apiKey === null ? ['hearth'] : ['hearth', `hearth-key.${this.#options.apiKey}`]
  }

  /** Sends the call and uses its answer, again and again where that is safe and may help, within the time of the call. */
  async #repeat<Value>(
    call: Call,
    use: (answer: Answer, cancellation: Cancellation) => Promise<Value>,
  ): Promise<Value> {
    assertNotAborted(call.signal)
    const url = this.urlOf(call.path, call.query)
    const timeoutMs = call.timeoutMs === undefined ? this.#options.timeoutMs : call.timeoutMs
    const until = timeoutMs === null ? null : performance.now() + timeoutMs
    const retries = (call.repeatable ?? call.method === 'GET') ? this.#options.retries : 0
    const cancellable = (): Cancellation => {
      const cancellation = new Cancellation(call.signal)
      const late = (): HearthError => new HearthError('timeout', `no answer from ${url} within ${timeoutMs} ms`)
      if (until !== null) cancellation.limit(Math.max(0, until - performance.now()), late)
      return cancellation
    }
    for (let attempt = 0; ; attempt++) {
      const cancellation = cancellable()
      try {
        return await use(await this.#attempt(call, url, cancellation), cancellation)
      } catch (error) {
        const failure = networkFailure(error, cancellation.signal, url)
        cancellation.release()
        const delay = retryDelayMs(failure, attempt, retries)
        if (delay === null) throw failure
        await pause(delay, cancellable())
      }
    }
  }

  async #attempt(call: Call, url: string, cancellation: Cancellation): Promise<Answer> {
    const body = call.json === undefined ? call.body : JSON.stringify(call.json)
    const headers = {
      accept: 'application/json',
      ...this.authorization(),
      ...(call.json === undefined ? {} : { 'content-type': 'application/json' }),
      ...call.headers,
    }
    const init: RequestInit = { method: call.method, headers, signal: cancellation.signal, redirect: 'manual' }
    if (body !== undefined) init.body = body
    if (body instanceof ReadableStream) init.duplex = 'half'
    const { fetch } = this.#options
    const response = await fetch(url, init)
    this.#clock.heard(response.headers.get('date'))
    if (response.ok) return new Answer(response, cancellation, url)
    throw statusFailure(response, await response.text())
  }
}
