import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { Secret } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway, type TestGateway } from './inspected.fixture.ts'
import { curlFor, startServer, type Curl, type TestServer } from './servers.fixture.ts'

const NAME = 'api.test'
const secrets: Secret[] = [
  {
    name: 'HEADER',
    value: 'sk-live-4f9a8b7c6d5e4f3a2b1c0d9e',
    binding: { name: NAME, placement: { in: 'header', header: 'x-api-key' } },
  },
]

describe.each(['--http1.1', '--http2'])('the body of a request, packed, over %s', (version) => {
  let server: TestServer
  let gateway: TestGateway
  let client: { curl: Curl; directory: string; remove: () => Promise<void> }

  beforeAll(async () => {
    server = await startServer((_request, response) => void response.end('reached'))
    gateway = await startGateway({ name: NAME, upstreamPort: server.port, upstreamRoot: server.root, secrets })
    client = await curlFor(NAME, gateway.port, gateway.root)
  })
  afterAll(async () => {
    gateway.close()
    server.close()
    await client.remove()
  })

  const twice = (text: string): Buffer => brotliCompressSync(gzipSync(text))
  const framed = (text: string): Buffer =>
    Buffer.from(`${text.length.toString(16)}\r\n${text}\r\n0;chunk-signature=1\r\n\r\n`)

  it.each<readonly [coding: string, pack: (placeholder: string) => Buffer, status: number]>([
    ['gzip, br', () => twice('harmless'), 200],
    ['gzip, br', (placeholder) => twice(`x ${placeholder}`), 403],
    ['compress', () => Buffer.from('harmless'), 403],
    ['constructor', () => Buffer.from('harmless'), 403],
    ['aws-chunked', () => framed('harmless'), 200],
    ['aws-chunked', framed, 403],
    ['compress, aws-chunked', () => framed('harmless'), 403],
  ])('in %s (%#)', async (coding, pack, status) => {
    const file = join(client.directory, 'body')
    const before = server.requests.length
    await writeFile(file, pack(gateway.secrets.all[0]?.placeholder ?? ''))
    const url = `https://${NAME}:${gateway.port}/`
    const answer = await client.curl(version, '-H', `content-encoding: ${coding}`, '--data-binary', `@${file}`, url)
    expect(answer.status).toBe(status)
    expect(server.requests).toHaveLength(status === 200 ? before + 1 : before)
  })
})
