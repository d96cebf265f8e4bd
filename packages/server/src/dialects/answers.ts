import type { ServerResponse } from 'node:http'

export function sendJson(
  outgoing: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = JSON.stringify(body)
  const all = { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  outgoing.writeHead(status, all).end(text)
}

/** An answer without content says so: clients take a chunked empty one for broken JSON. */
export function sendEmpty(outgoing: ServerResponse, status: number): void {
  outgoing.writeHead(status, status === 204 ? {} : { 'content-length': 0 }).end()
}
