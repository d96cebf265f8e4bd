import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { readBody } from '../bodies/read-body.ts'
import { ResponseWriter } from '../streams/response-writer.ts'
import { answerTimeout, openUpstream, upstreamFailure, type Forwarding } from './forward.ts'
import { responseHeaders } from './headers.ts'

const WITHOUT_BODY = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE'])

/** Passes one HTTP request on and its answer back, both as they come. Throws only while nothing has been answered. */
export async function forwardRequest(forwarding: Forwarding, outgoing: ServerResponse): Promise<void> {
  const request = await openUpstream(forwarding, false)
  const sent = sendBody(forwarding, request)
  // An answer may come before the whole body was taken; then what happens to the rest is the program's business.
  sent.catch(() => request.destroy())
  const answer = await answerOf(request, forwarding).catch((error: unknown) => {
    throw upstreamFailure(error)
  })
  const writer = new ResponseWriter(outgoing, forwarding.services.limits.writeIdleMs)
  try {
    outgoing.writeHead(answer.statusCode ?? 502, responseHeaders(answer, forwarding.mode))
  } catch (error) {
    request.destroy()
    throw upstreamFailure(error)
  }
  outgoing.flushHeaders()
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) await writer.write(chunk)
    writer.end()
  } catch {
    // The client must see that something is missing, and the program that nobody listens.
    writer.destroy()
  } finally {
    request.destroy()
  }
}

async function sendBody(forwarding: Forwarding, request: ClientRequest): Promise<void> {
  const { incoming, services } = forwarding
  const { headers } = incoming
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (!hasBody) {
    if (!WITHOUT_BODY.has(incoming.method ?? 'GET')) request.setHeader('content-length', '0')
    request.end()
    return
  }
  const { uploadBytes, bodyIdleMs } = services.limits
  await pipeline(readBody(incoming, { maximumBytes: uploadBytes, idleMs: bodyIdleMs }), request)
}

async function answerOf(request: ClientRequest, { services }: Forwarding): Promise<IncomingMessage> {
  const done = answerTimeout(request, services.limits.previewAnswerMs)
  try {
    return await new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve)
      request.once('error', reject)
      request.once('close', () => reject(new Error('the connection was closed')))
      // An upgrade that nobody asked for is no answer.
      request.once('upgrade', (_answer, socket) => {
        socket.destroy()
        reject(new Error('an upgrade that was not asked for'))
      })
    })
  } finally {
    done()
    request.on('error', () => {})
  }
}
