import { EGRESS_PROXY_NAME, EGRESS_PROXY_PORT } from '@hearth/contract'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { scriptedGateway, type ScriptedGateway } from '../scripted-gateway.fixture.ts'
import { PROXY_HEAD_MS, PROXY_HEADS } from './egress-proxy.ts'
import { connectTo, ProxiedServers } from './proxied-servers.fixture.ts'
import { dialProxy, sayToProxy } from './proxy-client.fixture.ts'
import { PROXY_HEAD_BYTES } from './read-head.ts'

const OK = /^HTTP\/1\.1 200 /

let servers: ProxiedServers
beforeAll(async () => {
  servers = await ProxiedServers.start()
})
afterAll(() => servers[Symbol.dispose]())
afterEach(() => {
  servers.seen.length = 0
  vi.useRealTimers()
})

describe('the proxy refuses', () => {
  let to: ScriptedGateway
  beforeAll(async () => {
    to = await scriptedGateway(servers.policy)
  })

  const plain = (target: string, host = 'web.example'): string => `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`
  const web80 = (): string => `web.example:${servers.web}`
  const attacks: Readonly<Record<string, readonly [() => string, RegExp]>> = {
    'a name that is not allowed': [() => servers.get('stranger.example'), / 403 [^]*"refusal":"name_not_allowed"/],
    'a tunnel to one': [() => connectTo('stranger.example:443'), / 403 [^]*"refusal":"name_not_allowed"/],
    'another port': [() => connectTo('web.example:22'), / 403 [^]*port_not_allowed/],
    'no port': [() => connectTo('web.example'), / 400 [^]*malformed/],
    'port 0': [() => connectTo('web.example:0'), / 400 [^]*malformed/],
    'port 65536': [() => connectTo('web.example:65536'), / 400 [^]*malformed/],
    loopback: [() => connectTo('127.0.0.1:80'), / 403 [^]*name_not_allowed/],
    localhost: [() => connectTo('localhost:80'), / 403 [^]*name_not_allowed/],
    'an address of metadata': [() => plain('http://169.254.169.254/'), / 403 [^]*name_not_allowed/],
    'a number for an address': [() => connectTo('2130706433:80'), / 400 [^]*malformed/],
    'hexadecimal digits': [() => connectTo('0x7f.1:80'), / 400 [^]*malformed/],
    'octal digits': [() => connectTo('0177.0.0.1:80'), / 400 [^]*malformed/],
    IPv6: [() => connectTo('[::1]:80'), / 403 [^]*name_not_allowed/],
    'IPv6 in a request': [() => plain('http://[::1]/'), / 403 [^]*name_not_allowed/],
    'a name that leads to a private address': [
      () => `${connectTo(`private.example:${servers.web}`)}x`,
      /^HTTP\/1\.1 200 Connection established\r\n\r\n$/,
    ],
    itself: [() => connectTo(`${EGRESS_PROXY_NAME}:${EGRESS_PROXY_PORT}`), / 403 [^]*does not lead to itself/],
    'itself, in a request': [() => plain(`http://${EGRESS_PROXY_NAME}:3128/`), / 403 [^]*does not lead to itself/],
    'a CONNECT in a tunnel': [
      () => connectTo(`web.example:${servers.web}`) + connectTo('stranger.example:443'),
      / 403 [^]*protocol_not_allowed/,
    ],
    'a Host that is not the address': [() => plain(`http://${web80()}/`, 'second.example'), / 403 [^]*name_mismatch/],
    'two Hosts': [
      () => `GET http://${web80()}/ HTTP/1.1\r\nHost: ${web80()}\r\nHost: second.example\r\n\r\n`,
      / 400 [^]*more than one Host/,
    ],
    'a Host of CONNECT that is another': [
      () => `CONNECT ${web80()} HTTP/1.1\r\nHost: second.example:1\r\n\r\n`,
      / 403 [^]*name_mismatch/,
    ],
    'a user in the address': [() => plain('http://web.example@stranger.example/'), / 403 [^]*malformed|name_not/],
    'a path without a host': [() => plain('/path'), / 400 [^]*malformed/],
    'https without a tunnel': [() => plain('https://web.example/'), / 403 [^]*protocol_not_allowed/],
    ftp: [() => plain('ftp://web.example/'), / 403 [^]*protocol_not_allowed/],
    'a CONNECT with a body': [
      () => connectTo(web80(), 'Content-Length: 5\r\n') + 'GET /x',
      / 400 [^]*CONNECT has no body/,
    ],
    'lines that end otherwise': [() => `GET http://${web80()}/ HTTP/1.1\nHost: web.example\r\n\r\n`, / 400 /],
    'folded lines': [() => `GET http://${web80()}/ HTTP/1.1\r\nHost: web.example\r\n x: y\r\n\r\n`, / 400 /],
    'a blank before the colon': [() => `GET http://${web80()}/ HTTP/1.1\r\nHost : web.example\r\n\r\n`, / 400 /],
    'NUL in a name': [() => connectTo('web.example\0.stranger.example:443'), / 400 /],
    'two readings of a length': [
      () => servers.get('web.example', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n').replace('GET', 'POST'),
      / 400 | 403 /,
    ],
    'a Connection that hides the length': [
      () =>
        `${servers.get('web.example', 'Connection: content-length\r\nContent-Length: 35\r\n').replace('GET', 'POST')}GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n`,
      / 200 [^]*GET \/smuggled/,
    ],
    TLS: [() => '\x16\x03\x01\x00\x05hello\r\n\r\n', / 400 /],
    'HTTP/2': [() => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', / 400 /],
    SOCKS: [() => '\x05\x01\x00\r\n\r\n', / 400 /],
  }
  test.each(Object.entries(attacks))('%s', async (_name, [text, expected]) => {
    expect(await sayToProxy(to, Buffer.from(text(), 'latin1'))).toMatch(expected)
    expect(servers.seen.filter((request) => /smuggled|second\.example/.test(request))).toEqual([])
  })

  test('what follows a refused request, whatever it is', async () => {
    expect(await sayToProxy(to, connectTo('stranger.example:443') + servers.get('web.example'))).not.toContain(
      'kindled',
    )
    expect(await sayToProxy(to, servers.get('stranger.example') + servers.get('web.example'))).not.toContain('kindled')
    // A second request on a connection that leads to one name already.
    const answer = await sayToProxy(to, servers.get('web.example') + servers.get('second.example'))
    expect(answer).not.toContain('kindled at second')
    expect(servers.seen.join()).not.toContain('second')
  })

  test('a head that is too long, and none longer is held', async () => {
    const answer = await sayToProxy(to, servers.get('web.example', `X: ${'x'.repeat(PROXY_HEAD_BYTES)}\r\n`))
    expect(answer).toMatch(/ 431 /)
    const endless = dialProxy(to)
    endless?.stream.write('x'.repeat(PROXY_HEAD_BYTES + 1))
    expect(await endless?.answer).toMatch(/ 431 /)
    const room = PROXY_HEAD_BYTES - servers.get('web.example', 'X: \r\n').length
    expect(await sayToProxy(to, servers.get('web.example', `X: ${'x'.repeat(room)}\r\n`))).toMatch(OK)
    expect(await sayToProxy(to, servers.get('web.example', 'X: y\r\n'.repeat(300)))).toMatch(/ 400 [^]*headers/)
  })

  test('a head that does not come, and more of them than it waits for', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const slow = Array.from({ length: PROXY_HEADS }, () => dialProxy(to))
    expect(slow).not.toContain(null)
    expect(dialProxy(to)).toBeNull()
    expect(to.entries.at(-1)).toMatchObject({ refusal: 'budget_exhausted', name: EGRESS_PROXY_NAME })
    for (const client of slow) client?.stream.write('GET http://web')
    await vi.advanceTimersByTimeAsync(PROXY_HEAD_MS)
    for (const client of slow) expect(await client?.answer).toMatch(/ 408 /)
    expect(dialProxy(to)).not.toBeNull()
  })
})
