import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callbackify, promisify } from 'node:util'
import { expect, test } from 'vitest'
import { CertificateAuthority } from '../packages/engine/src/gateway/tls/authority.ts'
import { E2bServer } from './support/e2b-server.ts'

/** What an operator puts in front: it ends TLS for every name below the domain, and passes all on as it is. */
async function front(authority: CertificateAuthority, target: () => string) {
  const pass = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { method, url: path, headers } = incoming
    const onward = request(target() + path, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(outgoing)
    })
    onward.once('error', () => outgoing.destroy())
    outgoing.once('close', () => onward.destroy())
    incoming.pipe(onward)
  }
  const server = createServer({ SNICallback: callbackify((name: string) => authority.contextFor(name)) }, pass)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const end = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
  }
  return { port: (server.address() as AddressInfo).port, [Symbol.asyncDispose]: end }
}

test('a client that is told a domain and a key alone works with all of it', { timeout: 60_000 }, async () => {
  const authority = await CertificateAuthority.create()
  let url = ''
  await using ahead = await front(authority, () => url)
  const domain = `e2b.test:${ahead.port}`
  await using server = await E2bServer.with({ domain })
  url = server.url
  const folder = await mkdtemp(join(tmpdir(), 'hearth-domain-'))
  const authorities = join(folder, 'authority.pem')
  await writeFile(authorities, authority.certificate)
  const env = {
    PATH: process.env['PATH'] ?? '',
    NODE_EXTRA_CA_CERTS: authorities,
    E2B_DOMAIN: domain,
    E2B_API_KEY: server.key,
  }
  const program = join(import.meta.dirname, 'support/e2b-domain-client.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env })
  await rm(folder, { recursive: true })
  expect(JSON.parse(stdout)).toEqual({
    host: `8000-ID.${domain}`,
    command: 'there\n',
    code: '42',
    read: 'a file',
    signed: 'a file',
    served: 'a file',
    running: true,
  })
})
