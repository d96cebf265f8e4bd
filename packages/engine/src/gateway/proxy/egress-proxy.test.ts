import { EGRESS_PROXY_NAME, EGRESS_PROXY_PORT, type Policy } from '@hearth/contract'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { CompiledPolicy } from '../policy/compiled-policy.ts'
import { scriptedGateway, type ScriptedGateway } from '../scripted-gateway.fixture.ts'
import { connectTo, ProxiedServers } from './proxied-servers.fixture.ts'
import { dialProxy, sayToProxy } from './proxy-client.fixture.ts'

const OK = /^HTTP\/1\.1 200 /

let servers: ProxiedServers
beforeAll(async () => {
  servers = await ProxiedServers.start()
})
afterAll(() => servers[Symbol.dispose]())
afterEach(() => {
  servers.seen.length = 0
})

/** A connection is in the record when it is over. */
const recorded = ({ entries }: ScriptedGateway, expected: object[]): Promise<void> =>
  vi.waitFor(
    () => {
      for (const entry of expected) expect(entries).toContainEqual(expect.objectContaining(entry))
    },
    { timeout: 10_000 },
  )

describe('the proxy', () => {
  test('is found only where the policy has it, whatever else that says', async () => {
    const { gateway } = await scriptedGateway(servers.policy)
    const found = gateway.lookup(EGRESS_PROXY_NAME)
    expect([...new Uint16Array(Uint8Array.from(found.ports).buffer)]).toEqual([EGRESS_PROXY_PORT])
    const others: Policy[] = [{ allow: ['*.internal', EGRESS_PROXY_NAME] }, { mode: 'audit' }, {}]
    for (const none of others) {
      const without = await scriptedGateway(none)
      expect(without.gateway.lookup(EGRESS_PROXY_NAME).address).toBe(0)
      expect(dialProxy(without)).toBeNull()
    }
    expect((await scriptedGateway({ proxy: true })).gateway.empty).toBe(false)
  })

  test('passes a plain request on as one straight to its name, without what is for the proxy', async () => {
    const to = await scriptedGateway(servers.policy)
    const more = 'Proxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\nX-Kept: yes\r\n'
    const answer = await sayToProxy(to, servers.get('web.example', more))
    expect(answer).toMatch(OK)
    expect(answer).toMatch(/^connection: close\r$/im)
    expect(answer).toContain(`kindled at web.example:${servers.web}`)
    expect(servers.seen).toHaveLength(1)
    expect(servers.seen[0]).toMatch(/^GET \/path\?q .*x-kept\|yes/i)
    expect(servers.seen[0]).not.toMatch(/proxy/i)
    await recorded(to, [
      { kind: 'request', name: 'web.example', path: '/path', status: 200 },
      { kind: 'connection', name: 'web.example', port: servers.web },
    ])
  })

  test('passes bodies on, in pieces too', async () => {
    const to = await scriptedGateway(servers.policy)
    const head = `POST http://web.example:${servers.web}/ HTTP/1.1\r\nHost: web.example:${servers.web}\r\nTransfer-Encoding: chunked\r\n\r\n`
    const client = dialProxy(to)
    for (const piece of [head.slice(0, 20), `${head.slice(20)}4\r\nwarm\r\n`, '0\r\n\r\n']) {
      client?.stream.write(piece)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    expect(await client?.answer).toContain('warm')
  })

  test('makes a tunnel, through which the bytes count for the connection', async () => {
    const to = await scriptedGateway({ ...servers.policy, budgets: { sentBytes: 20 } })
    const client = dialProxy(to)
    client?.stream.write(`${connectTo(`echo.example:${servers.echo}`)}hello `)
    const all = client?.answer
    await vi.waitFor(() => expect(to.gateway.used.sentBytes).toBe(6))
    client?.stream.write('more')
    await vi.waitFor(() => expect(to.gateway.used.sentBytes).toBe(10))
    client?.stream.write('and far too much of it')
    expect(await all).toMatch(/^HTTP\/1\.1 200 Connection established\r\n\r\n/)
    await recorded(to, [
      { kind: 'refusal', name: 'echo.example', refusal: 'budget_exhausted' },
      { kind: 'connection', name: 'echo.example', port: servers.echo },
    ])
  })

  test('a tunnel is held to its name like a connection straight to there', async () => {
    const to = await scriptedGateway(servers.policy)
    const request = 'GET / HTTP/1.1\r\nHost: second.example\r\n\r\n'
    expect(await sayToProxy(to, connectTo(`web.example:${servers.web}`) + request)).toMatch(/ 403 [^]*name_mismatch/)
    const ruled = connectTo(`rules.example:${servers.web}`)
    const closed = (path: string): string =>
      `${ruled}GET ${path} HTTP/1.1\r\nHost: rules.example:${servers.web}\r\nConnection: close\r\n\r\n`
    expect(await sayToProxy(to, closed('/shut'))).toMatch(/ 403 [^]*path_not_allowed/)
    expect(await sayToProxy(to, closed('/open/x'))).toContain('kindled')
    expect(servers.seen).toHaveLength(1)
  })

  test('ends with the policy that allows it, and a change reaches what is under way', async () => {
    const to = await scriptedGateway(servers.policy)
    const tunnel = dialProxy(to)
    tunnel?.stream.write(`${connectTo(`echo.example:${servers.echo}`)}x`)
    await vi.waitFor(() => expect(to.gateway.used.sentBytes).toBe(1))
    const waiting = dialProxy(to)
    to.gateway.setPolicy(new CompiledPolicy({ ...servers.policy, proxy: false }))
    expect(await waiting?.answer).toBe('')
    expect(tunnel?.stream.destroyed).toBe(false)
    to.gateway.setPolicy(new CompiledPolicy({ proxy: true }))
    await tunnel?.answer
    await recorded(to, [
      { kind: 'refusal', name: 'echo.example', refusal: 'name_not_allowed' },
      { kind: 'connection', name: 'echo.example' },
    ])
  })

  test('reaches for a command with a policy of its own what that allows too', async () => {
    const to = await scriptedGateway(servers.policy)
    to.gateway.narrow(7, JSON.stringify({ allow: [{ name: 'second.example', ports: [servers.web] }] }))
    expect(to.gateway.lookup(EGRESS_PROXY_NAME, 7).address).not.toBe(0)
    expect(await sayToProxy(to, servers.get('second.example'), 7)).toMatch(OK)
    expect(await sayToProxy(to, servers.get('web.example'), 7)).toMatch(/ 403 [^]*the policy of this command/)
    expect(await sayToProxy(to, connectTo(`web.example:${servers.web}`), 7)).toMatch(
      / 403 [^]*the policy of this command/,
    )
    expect(dialProxy(to, 8)).toBeNull()
    const waiting = dialProxy(to, 7)
    to.gateway.forget(7)
    expect(await waiting?.answer).toBe('')
  })
})
