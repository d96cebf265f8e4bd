import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { callbackify } from 'node:util'
import { EGRESS_PROXY_ENVIRONMENT, type Policy, type RecordEntry, type Secret } from '@hearth/contract'
import { Hearth, type EmbeddedSandbox } from '@hearth/engine'
import { expectRefusal } from '@hearth/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CertificateAuthority } from '../packages/engine/src/gateway/tls/authority.ts'
import { GitServer } from './gateway-clients/git-server.ts'
import { ladder, templateFor } from './support/ladder.ts'

const TOKEN: Secret = {
  name: 'TOKEN',
  value: 'ghp_Zk3vQ9mT1xR7cL5bN8wY2pH6dF4sJ0aG',
  binding: { name: 'git.example', placement: { in: 'basic' } },
}
const LOOPBACK = { addresses: ['127.0.0.0/8'] }
const SETTLED = 15_000

const authority = await CertificateAuthority.create()
const record: RecordEntry[] = []
const options = {
  secrets: async () => TOKEN,
  recorder: () => ({ add: (entry: RecordEntry) => void record.push(entry) }),
  gateway: { resolve: async () => ['127.0.0.1'], extraRoots: [authority.certificate] },
}
const hearth = new Hearth(options)
const steps = (await ladder(hearth)).filter(({ rung }) => rung !== 'simulated')

let git: GitServer
const servers: Server[] = []
const ports = { web: 0, plain: 0 }

async function listen(server: Server): Promise<number> {
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

beforeAll(async () => {
  git = await GitServer.start(
    TOKEN.value,
    steps.map(({ rung }) => `${rung}.git`),
  )
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url?.startsWith('/git/')) return git.answer(request, response)
    response.end(`kindled at ${request.headers.host?.split(':')[0]}\n`)
  }
  ports.web = await listen(
    createServer({ SNICallback: callbackify((name: string) => authority.contextFor(name)) }, answer),
  )
  ports.plain = await listen(createHttp(answer))
})

afterAll(async () => {
  await hearth.dispose()
  for (const server of servers) server.close()
  await git[Symbol.asyncDispose]()
}, 120_000)

const policy = (): Policy => ({
  allow: [
    { name: 'web.example', ports: [ports.web], methods: ['GET'], ...LOOPBACK },
    { name: 'plain.example', ports: [ports.plain], ...LOOPBACK },
    { name: 'second.example', ports: [ports.plain], ...LOOPBACK },
    { name: 'git.example', ports: [ports.web], ...LOOPBACK },
  ],
  proxy: true,
})

/** Names that lead nowhere but through the proxy. */
const ASTRAY = `for name in web plain second git; do echo "127.63.0.1 $name.example" >> /etc/hosts; done`
const NODE = `node -e 'Promise.all([process.env.WEB, process.env.PLAIN].map((url) => fetch(url).then((answer) => answer.text()))).then((all) => console.log(all.join("")))'`
const URLLIB = `python3 -c 'import os, urllib.request as u; print(*[u.urlopen(os.environ[name]).read().decode() for name in ("WEB", "PLAIN")])'`
const BOTH = /kindled at web\.example\s+kindled at plain\.example/
const GIT = `export GIT_TERMINAL_PROMPT=0 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
  git clone -q "https://x-access-token:$TOKEN@$GIT" /tmp/one && cd /tmp/one && echo kindled >file && git add file && git commit -qm one
  git push -q origin HEAD:main && git ls-remote origin`

describe.each(steps)('a sandbox with a proxy, on $rung', { timeout: 180_000 }, ({ rung, probe }) => {
  let sandbox: EmbeddedSandbox
  beforeAll(async () => {
    if (!probe.available) return
    const env = {
      WEB: `https://web.example:${ports.web}/`,
      PLAIN: `http://plain.example:${ports.plain}/`,
      SECOND: `http://second.example:${ports.plain}/`,
      GIT: `git.example:${ports.web}/git/${rung}.git`,
      HOME: '/tmp',
    }
    const spec = { rung, template: templateFor(probe), env, secrets: [{ secret: 'TOKEN' }] }
    sandbox = await hearth.create({ ...spec, policy: policy() })
    await sandbox.exec(ASTRAY, { user: 'root' })
  }, 120_000)
  afterAll(async () => await sandbox?.kill(), 60_000)

  const run = async (command: string, from = sandbox): Promise<string> => {
    const { stdout, stderr } = await from.exec(['sh', '-c', command], { timeoutMs: 60_000 })
    return stdout + stderr
  }
  const needs = async (skip: (reason: string) => never, program: string): Promise<void> => {
    if (!probe.available) return skip(probe.reason)
    if ((await sandbox.exec(`command -v ${program}`)).exitCode !== 0) return skip(`${program} is not installed`)
  }

  test('has its variables, and without it none', async ({ skip }) => {
    await needs(skip, 'env')
    const variables = async (): Promise<Record<string, string>> =>
      Object.fromEntries(
        (await run('env | grep -i proxy'))
          .split('\n')
          .flatMap((line) => [line.split('=')].filter(([name]) => name !== '')),
      )
    expect(await variables()).toEqual(EGRESS_PROXY_ENVIRONMENT)
    await sandbox.setPolicy({ ...policy(), proxy: false })
    expect(await variables()).toEqual({})
    await sandbox.setPolicy(policy())
    expect(await variables()).toEqual(EGRESS_PROXY_ENVIRONMENT)
    expect((await sandbox.exec('echo $http_proxy', { env: { http_proxy: 'mine' } })).stdout).toBe('mine\n')
  })

  test('curl', async ({ skip }) => {
    await needs(skip, 'curl')
    expect(await run('curl -sS $WEB $PLAIN')).toMatch(BOTH)
    // One connection to the proxy is not kept for another host.
    expect(await run('curl -sS $PLAIN $SECOND $PLAIN')).toBe(
      ['plain', 'second', 'plain'].map((name) => `kindled at ${name}.example\n`).join(''),
    )
    // Straight there is nothing at that address.
    expect(await run(`curl -sS --noproxy '*' $PLAIN`)).toMatch(/curl: \(7\)/)
  })

  test('curl is told what is refused, and why', async ({ skip }) => {
    await needs(skip, 'curl')
    const said: unknown = JSON.parse(await run('curl -sS http://stranger.example/'))
    expect(said).toMatchObject({ error: { code: 'egress_refused', refusal: 'name_not_allowed' } })
    expect(await run('curl -sS https://stranger.example/')).toMatch(/403/)
    expect(await run('curl -sS -X POST $WEB')).toMatch(/method_not_allowed/)
    expect(record).toContainEqual(expect.objectContaining({ kind: 'refusal', name: 'stranger.example', port: 443 }))
  })

  test('urllib of Python', async ({ skip }) => {
    await needs(skip, 'python3')
    expect(await run(URLLIB)).toMatch(BOTH)
  })

  test('fetch of Node, with NODE_USE_ENV_PROXY', async ({ skip }) => {
    await needs(skip, 'sh')
    if (probe.available && !probe.capabilities.hostTemplate) return skip('its Node is of the template')
    await sandbox.files.write('/tmp/bin/node', readFileSync(process.execPath), { mode: 0o755 })
    expect(await run(`PATH=/tmp/bin NODE_USE_ENV_PROXY=1 ${NODE}`)).toMatch(BOTH)
  })

  test('git, with a token that it does not have', async ({ skip }) => {
    await needs(skip, 'git')
    expect(await run(GIT)).toMatch(/refs\/heads\/main/)
  })

  test('a server of its own is reached without it', async ({ skip }) => {
    await needs(skip, 'python3')
    await using _server = await sandbox.spawn('cd /usr/share && python3 -m http.server 8123 --bind 127.0.0.1')
    await expect
      .poll(() => run('curl -sS http://127.0.0.1:8123/ http://localhost:8123/'), { timeout: SETTLED })
      .toMatch(/Directory listing/)
  })

  test('a command with a policy of its own reaches through it what that allows', async ({ skip }) => {
    await needs(skip, 'curl')
    if (probe.available && !probe.capabilities.narrowing) return skip('this rung cannot narrow')
    const narrow = { allow: [{ name: 'second.example', ports: [ports.plain] }] }
    const { stdout } = await sandbox.exec('curl -sS $SECOND $PLAIN', { policy: narrow })
    expect(stdout).toMatch(/^kindled at second\.example\n.*"refusal":"name_not_allowed".*the policy of this command/)
    await expectRefusal(sandbox.exec('true', { policy: { ...narrow, proxy: true } }), 'invalid_request')
  })

  test('copies, sleepers and what another engine takes up have it too', async ({ skip }) => {
    await needs(skip, 'curl')
    if (!probe.available || !probe.capabilities.snapshots) return skip('this rung has no snapshots')
    const { children } = await sandbox.fork(1)
    for (const child of children) {
      expect(await run('curl -sS $WEB $PLAIN', child)).toMatch(BOTH)
      await child.hibernate()
      await using woken = await hearth.wake(child.id)
      expect(await run('curl -sS $WEB $PLAIN', woken)).toMatch(BOTH)
    }
  })

  test('is taken up with it by another engine', async ({ skip }) => {
    await needs(skip, 'curl')
    if (!probe.available || !probe.capabilities.reconnect) return skip('this rung does not reconnect')
    const { id } = sandbox
    await sandbox.release()
    sandbox = await hearth.adopt(id)
    expect(await run('curl -sS $WEB $PLAIN')).toMatch(BOTH)
  })
})
