import type { RecordEntry, Secret } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { startServers } from '@hearth/testing'
import { afterAll, expect, test } from 'vitest'
import { CertificateAuthority } from '../../../packages/engine/src/gateway/tls/authority.ts'
import { notationsOf, VALUES } from './places.ts'

// The simulated shell has no sockets, descriptors or programs: of the attack list it can try what a URL and the options of its `curl` can say.
const authority = await CertificateAuthority.create()
const servers = await startServers((name) => authority.contextFor(name))
const { secureWeb, web } = servers
const secret: Secret = {
  name: 'VAULT',
  value: VALUES.VAULT,
  binding: { name: 'vault.example', placement: { in: 'header', header: 'authorization' }, methods: ['GET'] },
}
const record: RecordEntry[] = []
const resolved: string[] = []
const hearth = new Hearth({
  secrets: async () => secret,
  recorder: () => ({ add: (entry) => record.push(entry) }),
  gateway: {
    extraRoots: [authority.certificate],
    resolve: async (name) => {
      resolved.push(name)
      return ['127.0.0.1']
    },
  },
})
const loopback = { addresses: ['127.0.0.0/8'] }
const sandbox = await hearth.create({
  rung: 'simulated',
  policy: {
    allow: [
      { name: 'allowed.example', ports: [web], ...loopback },
      { name: 'rules.example', ports: [secureWeb], methods: ['GET'], paths: ['/open/**'], ...loopback },
      { name: 'vault.example', ports: [secureWeb, web], ...loopback },
      { name: 'private.example', ports: [web] },
    ],
  },
  secrets: [{ secret: 'VAULT' }],
})
const said: string[] = []

async function curl(rest: string): Promise<string> {
  const { stdout, stderr } = await sandbox.exec(`curl -sS -i ${rest}`)
  said.push(stdout + stderr)
  return stdout + stderr
}

afterAll(async () => {
  await sandbox.kill()
  await hearth.dispose()
  servers.close()
})

test('what is allowed is reached', async () => {
  expect(await curl(`http://allowed.example:${web}/`)).toContain('web allowed.example')
  expect(await curl(`https://rules.example:${secureWeb}/open/a`)).toContain('GET /open/a')
})

test.each([
  ['another name', 'http://stranger.example/'],
  ['an IP literal', `http://127.0.0.1:${web}/`],
  ['a decimal address', `http://2130706433:${web}/`],
  ['an octal address', `http://0177.0.0.1:${web}/`],
  ['a mapped address', `http://[::ffff:127.0.0.1]:${web}/`],
  ['metadata of a cloud', 'http://169.254.169.254/latest/meta-data/'],
  ['a wrong port', `http://allowed.example:${secureWeb}/`],
  ['a name that leads to the loopback', `http://private.example:${web}/`],
  ['a user in front of another name', `http://allowed.example@stranger.example:${web}/`],
  ['another scheme', 'file:///etc/passwd'],
  ['another Host', `-H 'Host: stranger.example' http://allowed.example:${web}/`],
  ['another method', `-X POST https://rules.example:${secureWeb}/open/a`],
  ['another path', `https://rules.example:${secureWeb}/closed`],
  ['an ambiguous path', `'https://rules.example:${secureWeb}/open/%252e%252e/closed'`],
  ['TRACE', `-X TRACE https://rules.example:${secureWeb}/open/a`],
])('bypass: %s', async (_what, rest) => {
  const before = servers.connections()
  const answer = await curl(rest)
  expect(answer).toMatch(/curl: |HTTP\/1\.1 4\d\d|egress_refused/)
  expect(answer).not.toMatch(/^web |^(GET|POST|TRACE) \//m)
  expect(servers.connections() - before).toBeLessThanOrEqual(1)
})

test.each([
  ['a placeholder in another header', '-H "X-Other: $VAULT"'],
  ['a placeholder in a body', '-d "title=$VAULT"'],
  ['a placeholder in a cookie', '-b "a=$VAULT"'],
  ['use for a different purpose', '-X DELETE -H "Authorization: Bearer $VAULT"'],
])('theft: %s', async (_what, options) => {
  expect(await curl(`${options} https://vault.example:${secureWeb}/`)).toContain('placeholder_misplaced')
})

test('theft: reflection, plain HTTP, and what is left everywhere', async () => {
  const reflected = await curl(`-H "Authorization: Bearer $VAULT" https://vault.example:${secureWeb}/`)
  expect(servers.lastHeaders()['authorization']).toBe(`Bearer ${VALUES.VAULT}`)
  expect(reflected).toMatch(/GET \/ Bearer ghp_/)
  expect(await curl(`-H "Authorization: Bearer $VAULT" http://vault.example:${web}/`)).toContain(
    'placeholder_misplaced',
  )
  const { stdout: environment } = await sandbox.exec('env; set')
  const text = JSON.stringify([said, environment, record])
  for (const notation of notationsOf(VALUES.VAULT)) expect(text).not.toContain(JSON.stringify(notation).slice(1, -1))
  expect(new Set(resolved)).toEqual(new Set(['allowed.example', 'rules.example', 'vault.example', 'private.example']))
})
