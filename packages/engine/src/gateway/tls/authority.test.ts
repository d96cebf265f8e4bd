import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createServer, type Server } from 'node:tls'
import { callbackify, promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CertificateAuthority } from './authority.ts'

describe('the authority of a sandbox', () => {
  let authority: CertificateAuthority
  let server: Server
  let port: number

  beforeAll(async () => {
    authority = await CertificateAuthority.create()
    server = createServer({ SNICallback: callbackify((name: string) => authority.contextFor(name)) }, (socket) =>
      socket.end('hello'),
    ).listen(0, '127.0.0.1')
    server.on('tlsClientError', () => undefined)
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })

  afterAll(() => server.close())

  async function shake(ca: string, servername: string): Promise<boolean> {
    const socket = connect({ host: '127.0.0.1', port, ca, servername })
    try {
      await once(socket, 'secureConnect')
      return socket.authorized
    } finally {
      socket.destroy()
    }
  }

  it('is trusted by who trusts it, for each name', async () => {
    expect(await shake(authority.certificate, 'a.test')).toBe(true)
    expect(await shake(authority.certificate, 'b.example.test')).toBe(true)
  })

  it('is nothing to the sandbox next to it', async () => {
    const other = await CertificateAuthority.create()
    await expect(shake(other.certificate, 'a.test')).rejects.toThrow(/certificate/)
  })

  it('makes each certificate once', async () => {
    expect(await authority.contextFor('c.test')).toBe(await authority.contextFor('c.test'))
  })

  it('satisfies other libraries', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'hearth-authority-'))
    try {
      const file = join(directory, 'ca.pem')
      await writeFile(file, authority.certificate)
      const script = [
        'import socket, ssl, sys',
        'context = ssl.create_default_context(cafile=sys.argv[1])',
        'if hasattr(ssl, "VERIFY_X509_STRICT"): context.verify_flags |= ssl.VERIFY_X509_STRICT',
        's = context.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[2]))), server_hostname="python.test")',
        'print(s.recv(5).decode())',
      ].join('\n')
      const { stdout } = await promisify(execFile)('python3', ['-c', script, file, String(port)])
      expect(stdout.trim()).toBe('hello')
    } finally {
      await rm(directory, { recursive: true })
    }
  })
})
