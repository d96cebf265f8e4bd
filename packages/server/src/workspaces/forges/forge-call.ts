import { request, type IncomingMessage } from 'node:http'
import { BOUNDS, HearthError } from '@hearth/contract'
import { openConnection, type ConnectionOptions } from '../../outgoing/open-connection.ts'
import { forgeFailed } from './forge-failure.ts'

export interface ForgeCall {
  readonly method: 'GET' | 'POST'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly json?: unknown
}

export interface ForgeAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** Undefined when it is no JSON. */
  readonly body: unknown
}

const REDIRECTS = [301, 302, 307, 308]
const MOST_REDIRECTS = 3

/** Calls the API of a forge. Bounded in time and size; a redirect is followed to the same server alone, since the token goes with it. */
export async function callForge(call: ForgeCall, options: ConnectionOptions): Promise<ForgeAnswer> {
  const late = AbortSignal.timeout(BOUNDS.forgeMs)
  const signal = AbortSignal.any([late, options.signal])
  try {
    return await follow(call, { ...options, signal })
  } catch (error) {
    if (options.signal.aborted) throw new HearthError('aborted', 'the caller gave up', { cause: error })
    if (late.aborted) throw forgeFailed(`no answer within ${BOUNDS.forgeMs} ms`)
    if (HearthError.isInstance(error)) throw error
    throw forgeFailed(`the connection failed: ${(error as Error).message}`)
  }
}

async function follow(call: ForgeCall, options: ConnectionOptions): Promise<ForgeAnswer> {
  let { url } = call
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const answer = await callOnce({ ...call, url }, options)
    if (!REDIRECTS.includes(answer.status)) return answer
    const target = URL.parse(answer.headers.location ?? '', url.href)
    if (target?.origin !== url.origin) throw forgeFailed('it redirects to another server, which gets no token')
    // What changes something is repeated only where the answer says that it must be.
    if (call.method === 'POST' && answer.status < 307)
      throw forgeFailed('the repository has moved; use its new address')
    url = target
  }
  throw forgeFailed('it redirects without end')
}

async function callOnce({ method, url, headers, json }: ForgeCall, options: ConnectionOptions): Promise<ForgeAnswer> {
  const body = json === undefined ? '' : JSON.stringify(json)
  const socket = await openConnection(url, options)
  try {
    const sent = request({
      method,
      path: `${url.pathname}${url.search}`,
      headers: {
        ...headers,
        host: url.host,
        connection: 'close',
        ...(body === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      },
      createConnection: () => socket,
      signal: options.signal,
    })
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve)
      sent.once('error', reject)
    })
    sent.end(body)
    const answer = await answered
    const { statusCode: status = 0, headers: told } = answer
    return { status, headers: told, body: parsed(await readBounded(answer)) }
  } finally {
    socket.destroy()
  }
}

async function readBounded(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of answer as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > BOUNDS.forgeAnswerBytes)
      throw forgeFailed(`its answer is larger than ${BOUNDS.forgeAnswerBytes} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
