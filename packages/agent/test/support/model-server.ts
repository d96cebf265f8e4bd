import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openModel, type Model } from '../../src/index.ts'
import type { Fault, ModelProgram, Turn } from './model-program.ts'
import { PROTOCOLS, type Body, type Protocol, type StreamEvent } from './protocols.ts'
import { refusalOf } from './refusals.ts'
import { WHOLE_REPLIES } from './whole-replies.ts'

/** A server on loopback that speaks the protocols of the providers as a program tells it to. */
export class ModelServer implements AsyncDisposable {
  readonly #server: Server
  readonly #program: ModelProgram
  /** The bodies of all requests. */
  readonly requests: Body[] = []
  readonly problems: unknown[] = []

  private constructor(program: ModelProgram) {
    this.#program = program
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        this.problems.push(error)
        response.destroy()
      })
    })
  }

  static async start(program: ModelProgram): Promise<ModelServer> {
    const server = new ModelServer(program)
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  /** Without the version, which the official client of Anthropic adds itself. */
  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get url(): string {
    return `${this.origin}/v1`
  }

  /** The real client of the provider, led here. */
  async model(protocol: keyof typeof PROTOCOLS, contextTokens?: number): Promise<Model> {
    const options = { apiKey: 'test-key', baseUrl: this.url, ...(contextTokens === undefined ? {} : { contextTokens }) }
    if (protocol === 'anthropic') return await openModel('anthropic:claude-sonnet-4-5', options)
    if (protocol === 'responses') return await openModel('openai:gpt-5', options)
    return await openModel(`openai-compatible:${this.url}#test`, options)
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const named = Object.entries(PROTOCOLS).find(([, { path }]) => path === request.url)
    if (named === undefined) throw new Error(`nobody asks for ${request.url}`)
    const [name, protocol] = named as [keyof typeof PROTOCOLS, Protocol]
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Body
    const serial = this.requests.push(body)
    const refusal = refusalOf(body)
    const turn = refusal === null ? this.#program(protocol.view(body, serial - 1)) : { status: 400, message: refusal }
    if (isFault(turn)) return await fail(turn, protocol, response, serial)
    if (body['stream'] !== true) return json(response, WHOLE_REPLIES[name](turn, serial))
    send(response, protocol.stream(turn, serial))
    response.end()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

function isFault(turn: Turn): turn is Fault {
  return 'status' in turn || 'disconnect' in turn || 'flood' in turn || 'hang' in turn
}

function json(response: ServerResponse, reply: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
}

function send(response: ServerResponse, events: readonly StreamEvent[]): void {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const { event, data } of events) {
    const text = typeof data === 'string' ? data : JSON.stringify(data)
    response.write(`${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`)
  }
}

async function fail(fault: Fault, protocol: Protocol, response: ServerResponse, serial: number): Promise<void> {
  if ('status' in fault) {
    response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers })
    response.end(JSON.stringify(protocol.failure(fault.status, fault.message ?? `status ${fault.status}`)))
  } else if ('disconnect' in fault) {
    if (fault.disconnect === 'before') return void response.destroy()
    const events = protocol.stream(fault.say ?? { text: 'this will not be finished' }, serial)
    send(response, events.slice(0, Math.ceil(events.length / 2)))
    // What was written must have left before the connection breaks.
    await new Promise((resolve) => setTimeout(resolve, 20))
    response.destroy()
  } else if ('flood' in fault) {
    const [start, ...rest] = protocol.stream({ text: 'x'.repeat(300_000) }, serial)
    const deltas = rest.filter(({ data }) => JSON.stringify(data).length > 1000)
    send(response, start === undefined ? [] : [start, ...rest.slice(0, 2)])
    while (!response.destroyed) {
      send(response, deltas)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
}
