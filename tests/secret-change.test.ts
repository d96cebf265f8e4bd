import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Hearth, type RemoteSandbox } from '@hearth/sdk'
import { startServers } from '@hearth/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CertificateAuthority } from '../packages/engine/src/gateway/tls/authority.ts'
import { serve, type Server } from '../packages/server/src/serve.ts'

const FIRST = 'sk-test-first-4f9b2c7d8e1a6b3c5d7e9f0a'
const SECOND = 'sk-test-other-0a9f7e5d3c1b8a6f4e2d0c1b'
const binding = { name: 'secret.example', placement: { in: 'header', header: 'authorization' } } as const

let home: string
let server: Server
let hearth: Hearth
let servers: Awaited<ReturnType<typeof startServers>>

beforeAll(async () => {
  const authority = await CertificateAuthority.create()
  servers = await startServers((name) => authority.contextFor(name))
  home = await mkdtemp(join(tmpdir(), 'hearth-secret-'))
  const gateway = { resolve: async () => ['127.0.0.1'], extraRoots: [authority.certificate] }
  const engine = { spareKeepers: 0, gateway, pool: false } as const
  server = await serve({ home, port: 0, logLevel: 'silent', prepare: false, engine })
  hearth = new Hearth({ url: server.url, apiKey: server.firstKey?.token ?? '' })
}, 60_000)

afterAll(async () => {
  await server.stop({ graceMs: 1000 })
  servers.close()
  await rm(home, { recursive: true, force: true })
})

/** What the server was sent, and what it said of it. */
async function ask(sandbox: RemoteSandbox): Promise<{ sent: string | undefined; heard: string }> {
  const url = `https://secret.example:${servers.secureWeb}/`
  const { stdout } = await sandbox.exec(`curl -sk --max-time 20 -H "Authorization: $TOKEN" ${url}`)
  return { sent: servers.lastHeaders()['authorization'], heard: stdout }
}

test('a secret that is replaced or removed is so at once where it is used', { timeout: 60_000 }, async () => {
  await hearth.secrets.set('TOKEN', { value: FIRST, binding })
  const allow = [{ name: 'secret.example', ports: [servers.secureWeb], addresses: ['127.0.0.0/8'] }]
  const sandbox = await hearth.create({ rung: 'process', policy: { allow }, secrets: [{ secret: 'TOKEN' }] })
  const placeholder = (await sandbox.exec('printf %s "$TOKEN"')).stdout
  expect(await ask(sandbox)).toEqual({ sent: FIRST, heard: `GET / ${placeholder}` })
  await hearth.secrets.set('TOKEN', { value: SECOND, binding })
  expect(await ask(sandbox)).toEqual({ sent: SECOND, heard: `GET / ${placeholder}` })
  // What a server still knows of the first is scrubbed too.
  const path = `https://secret.example:${servers.secureWeb}/${FIRST}`
  expect((await sandbox.exec(`curl -sk ${path}`)).stdout).not.toContain(FIRST)
  await hearth.secrets.remove('TOKEN')
  // It reaches the server unopened, and is nothing there.
  expect((await ask(sandbox)).sent).toBe(placeholder)
  await sandbox.kill()
})
