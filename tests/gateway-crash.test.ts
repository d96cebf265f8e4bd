import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { startServers } from '@hearth/testing'
import type { Hearth, RemoteSandbox } from '@hearth/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CertificateAuthority } from '../packages/engine/src/gateway/tls/authority.ts'
import { ApiProcess } from './support/api-process.ts'

const KILLS = 3
const VALUE = 'ghp_Zk3vQ9mT1xR7cL5bN8wY2pH6dF4sJ0aG'

/** Reads without end over several connections; says when one broke and when it reads again. */
const READER = `
import socket, sys, threading, time
port = int(sys.argv[1])
def read(number):
    while True:
        try:
            with socket.create_connection(('endless.example', port), 10) as s:
                s.sendall(b'more\\n')
                s.recv(65536)
                print('reads', number, flush=True)
                while s.recv(65536): pass
                print('ended', number, flush=True)
        except OSError as error: print('broke', number, type(error).__name__, flush=True)
        time.sleep(0.05)
for number in range(4): threading.Thread(target=read, args=[number]).start()
`

let server: ApiProcess
let hearth: Hearth
let servers: Awaited<ReturnType<typeof startServers>>
let sandbox: RemoteSandbox

beforeAll(async () => {
  const authority = await CertificateAuthority.create()
  servers = await startServers((name) => authority.contextFor(name))
  server = await ApiProcess.start()
  hearth = server.client({ retries: 8 })
  await hearth.secrets.set('TOKEN', {
    value: VALUE,
    binding: { name: 'secret.example', placement: { in: 'header', header: 'authorization' } },
  })
  const loopback = { addresses: ['127.0.0.0/8'] }
  sandbox = await hearth.create({
    rung: 'process',
    template: 'host',
    policy: {
      allow: [
        { name: 'endless.example', ports: [servers.endless], ...loopback },
        { name: 'web.example', ports: [servers.web], ...loopback },
      ],
    },
    secrets: [{ secret: 'TOKEN' }],
  })
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  servers.close()
})

test(`a server killed ${KILLS} times during transfers: sandboxes go on, connections fail cleanly, the record is whole`, async () => {
  const reader = await sandbox.spawn(['python3', '-c', READER, String(servers.endless)])
  const lines: string[] = []
  const reading = (async () => {
    for await (const { data } of reader.output) lines.push(...Buffer.from(data).toString().split('\n').filter(Boolean))
  })()
  const count = (word: string): number => lines.filter((line) => line.startsWith(word)).length
  await expect.poll(() => count('reads'), { timeout: 20_000 }).toBeGreaterThanOrEqual(4)
  // What is open is in the record before the server dies, and stays there without an end.
  const open = async (): Promise<number> => {
    const { items } = await hearth.eventPage({ sandbox: sandbox.id, limit: 1000 })
    const ended = new Set(
      items.flatMap(({ type, data }) => (type === 'network.connection' ? [data['connection']] : [])),
    )
    return items.filter(({ type, data }) => type === 'network.opened' && !ended.has(data['connection'])).length
  }
  await expect.poll(open, { timeout: 10_000 }).toBe(4)
  for (let kill = 1; kill <= KILLS; kill++) {
    const before = count('reads')
    await server.kill('SIGKILL')
    await server.start()
    // Each hears of it, and each reads again at the address that it has.
    await expect.poll(() => count('reads'), { timeout: 30_000 }).toBeGreaterThanOrEqual(before + 4)
    const { stdout } = await sandbox.exec(`curl -sS http://web.example:${servers.web}/after/${kill}`)
    expect(stdout).toBe(`web web.example:${servers.web} /after/${kill}`)
    expect(await hearth.verifyRecord(sandbox.id)).toMatchObject({ valid: true })
    expect(await open()).toBeGreaterThanOrEqual(4)
  }
  expect(
    lines
      .filter((line) => line.startsWith('broke'))
      .every((line) => /Connection(Reset|Refused)Error|OSError|gaierror|TimeoutError/.test(line)),
  ).toBe(true)
  await reader.kill()
  await reading
  // What the last server saw is in the record: the four readers, and one request. What a server sees in its last moments may be lost with it.
  const recorded = async (): Promise<number> => {
    const { items } = await hearth.eventPage({ sandbox: sandbox.id, limit: 1000 })
    return items.filter(({ type }) => type === 'network.connection').length
  }
  await expect.poll(recorded, { timeout: 10_000 }).toBeGreaterThanOrEqual(4 + 1)
  expect(await hearth.verifyRecord(sandbox.id)).toMatchObject({ valid: true })
})

test('nothing on disk holds the value of a secret', async () => {
  await server.kill('SIGKILL')
  const found = promisify(execFile)('grep', ['-rlaF', '--devices=skip', VALUE, server.home])
  // 1: nothing was found.
  await expect(found).rejects.toMatchObject({ code: 1 })
  await server.start()
})
