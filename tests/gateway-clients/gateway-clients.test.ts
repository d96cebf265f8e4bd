import { once } from 'node:events'
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { connect, createServer as createTcp, type AddressInfo, type Server } from 'node:net'
import { callbackify } from 'node:util'
import type { RecordEntry, Secret } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CertificateAuthority } from '../../packages/engine/src/gateway/tls/authority.ts'
import { PostgresCluster } from '../../packages/testing/src/store/postgres-cluster.ts'
import { CLIENTS } from './clients.ts'
import { GitServer } from './git-server.ts'
import { npmRegistry, pythonIndex, type Pages } from './registries.ts'
import { SshServer } from '../../packages/server/src/workspaces/testing/ssh-server.ts'

const TOKEN: Secret = {
  name: 'TOKEN',
  value: 'ghp_Zk3vQ9mT1xR7cL5bN8wY2pH6dF4sJ0aG',
  binding: { name: 'git.example', placement: { in: 'basic' } },
}
const LOOPBACK = { addresses: ['127.0.0.0/8'] }
const RUNGS = ['process', 'container', 'gvisor', 'microvm'] as const

const authority = await CertificateAuthority.create()
const record: RecordEntry[] = []
const hearth = new Hearth({
  secrets: async () => TOKEN,
  recorder: () => ({ add: (entry) => record.push(entry) }),
  gateway: { resolve: async () => ['127.0.0.1'], extraRoots: [authority.certificate] },
})
const reports = await hearth.rungs()
let git: GitServer
let ssh: SshServer
let postgres: PostgresCluster
let web: Server
let plain: Server
let database: Server
let webPort: number
let plainPort: number
let databasePort: number
let pages: Pages = {}

async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? '', 'https://x')
  if (pathname.startsWith('/git/')) return git.answer(request, response)
  const page = pages[pathname]
  response.writeHead(page === undefined ? 404 : 200, { 'content-type': page?.type ?? 'text/plain' })
  response.end(page?.body ?? 'nothing there')
}

beforeAll(async () => {
  ;[git, ssh, postgres] = await Promise.all([
    GitServer.start(
      TOKEN.value,
      RUNGS.map((rung) => `${rung}.git`),
    ),
    SshServer.start(),
    PostgresCluster.start(),
  ])
  web = createServer({ SNICallback: callbackify((name: string) => authority.contextFor(name)) }, answer)
  webPort = await listen(web)
  plain = createHttp(answer)
  plainPort = await listen(plain)
  const socket = new URL(postgres.newDatabase().admin).searchParams.get('host') ?? ''
  database = createTcp((client) => {
    const server = connect(`${socket}/.s.PGSQL.5432`)
    for (const each of [client, server]) each.on('error', () => each.destroy())
    client.pipe(server).pipe(client)
  })
  databasePort = await listen(database)
  const hello = { '/hello': { type: 'text/plain', body: 'kindled' } }
  pages = { ...hello, ...(await npmRegistry(`https://web.example:${webPort}`)), ...(await pythonIndex()) }
})

afterAll(async () => {
  await hearth.dispose()
  for (const server of [web, plain, database]) server.close()
  await Promise.all([git, ssh, postgres].map(async (each) => await each[Symbol.asyncDispose]()))
})

describe.each(RUNGS)('unmodified clients on %s', { timeout: 300_000 }, (rung) => {
  const probe = reports.flatMap((report) => (report.rung === rung && report.probe.available ? [report.probe] : []))[0]
  // What the template has no program for is skipped.
  const used = new Set<string>()
  let sandbox: Awaited<ReturnType<Hearth['create']>>

  beforeAll(async () => {
    if (probe === undefined) return
    record.length = 0
    const policy = {
      allow: [
        { name: 'web.example', ports: [webPort], methods: ['GET' as const, 'POST' as const], ...LOOPBACK },
        { name: 'plain.example', ports: [plainPort], ...LOOPBACK },
        { name: 'git.example', ports: [webPort], ...LOOPBACK },
        { name: 'ssh.example', ports: [ssh.port], ...LOOPBACK },
        { name: 'database.example', ports: [databasePort], ...LOOPBACK },
      ],
    }
    const env = {
      WEB: `https://web.example:${webPort}`,
      PLAIN: `http://plain.example:${plainPort}`,
      GIT: `git.example:${webPort}/git/${rung}.git`,
      SSH_PORT: String(ssh.port),
      DATABASE_PORT: String(databasePort),
      HOME: '/tmp',
    }
    const template = probe.capabilities.hostTemplate ? 'host' : 'code-interpreter'
    sandbox = await hearth.create({ rung, template, policy, env, secrets: [{ secret: 'TOKEN' }] })
    await sandbox.files.write('/tmp/key', ssh.key, { mode: 0o600 })
    await sandbox.files.write('/tmp/known_hosts', ssh.knownAs('ssh.example'))
  })

  afterAll(async () => await sandbox?.kill())

  test('no variable names a proxy', async (context) => {
    if (probe === undefined) return context.skip(`the rung ${rung} does not work here`)
    expect((await sandbox.exec('env | grep -i proxy')).stdout).toBe('')
  })

  test.for(CLIENTS)('$name', async ({ program, names, needs, command }, context) => {
    if (probe === undefined) return context.skip(`the rung ${rung} does not work here`)
    const found = await sandbox.exec(`command -v ${program} && ${needs ?? 'true'}`)
    if (found.exitCode !== 0) return context.skip(`${program} is not installed, or not whole`)
    const result = await sandbox.exec(['sh', '-ec', command], { timeoutMs: 240_000 })
    for (const name of names) used.add(name)
    expect(result).toMatchObject({ exitCode: 0 })
    expect(result.stdout).toContain('kindled')
    expect(result.stdout + result.stderr).not.toContain(TOKEN.value)
  })

  test('everything went through the gateway, by name', async (context) => {
    if (probe === undefined) return context.skip(`the rung ${rung} does not work here`)
    const names = (): string[] => record.flatMap((entry) => (entry.kind === 'connection' ? [entry.name] : []))
    // A connection is in the record when it is over.
    await expect.poll(() => [...new Set(names())].toSorted(), { timeout: 10_000 }).toEqual([...used].toSorted())
    // Five programs that spoke HTTP/2 have ended, and none is still waited for.
    if (used.has('git.example'))
      await expect.poll(() => names().filter((name) => name === 'git.example'), { timeout: 10_000 }).toHaveLength(5)
    expect(record.filter((entry) => entry.kind === 'refusal')).toEqual([])
    expect(JSON.stringify(record)).not.toContain(TOKEN.value)
  })
})
