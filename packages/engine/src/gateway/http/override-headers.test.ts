import type { Policy, Rule, Secret } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway, type TestGateway } from './inspected.fixture.ts'
import { curlFor, startServer, type Curl, type TestServer } from './servers.fixture.ts'

const NAME = 'api.test'
const HEADERS = [
  'X-HTTP-Method-Override: DELETE',
  'X-HTTP-Method: DELETE',
  'X_Method_Override: DELETE',
  'X-Original-URL: /admin',
  'X-Rewrite-URL: /admin',
]
const secret = (limits: Partial<Secret['binding']>): Secret => ({
  name: 'TOKEN',
  value: 'sk-live-4f9a8b7c6d5e4f3a2b1c0d9e',
  binding: { name: NAME, placement: { in: 'header', header: 'x-api-key' }, ...limits },
})

describe('headers that give a request another method or path', () => {
  let server: TestServer
  const gateways: TestGateway[] = []
  const removals: (() => Promise<void>)[] = []

  beforeAll(async () => {
    server = await startServer((_request, response) => void response.end('reached'))
  })
  afterAll(async () => {
    for (const gateway of gateways) gateway.close()
    server.close()
    await Promise.all(removals.map((remove) => remove()))
  })

  async function askThrough(
    rule: Rule,
    secrets: readonly Secret[] = [],
  ): Promise<(header: string) => ReturnType<Curl>> {
    const policy = (port: number): Policy => ({ allow: [{ ...rule, ports: [port] }] })
    const gateway = await startGateway({
      name: NAME,
      upstreamPort: server.port,
      upstreamRoot: server.root,
      policy,
      secrets,
    })
    gateways.push(gateway)
    const { curl, remove } = await curlFor(NAME, gateway.port, gateway.root)
    removals.push(remove)
    return async (header) => await curl('-H', header, `https://${NAME}:${gateway.port}/open`)
  }

  const limited: readonly (readonly [what: string, rule: Rule, secrets: readonly Secret[]])[] = [
    ['a rule with methods', { name: NAME, methods: ['GET'] }, []],
    ['a rule with paths', { name: NAME, paths: ['/open'] }, []],
    ['a secret with methods', { name: NAME }, [secret({ methods: ['GET'] })]],
    ['a secret with paths', { name: NAME }, [secret({ paths: ['/**'] })]],
  ]
  it.each(limited)('are refused under %s', async (_what, rule, secrets) => {
    const ask = await askThrough(rule, secrets)
    const answers = await Promise.all(HEADERS.map(ask))
    for (const { status, body } of answers) {
      expect(status).toBe(403)
      expect(JSON.parse(body)).toMatchObject({ error: { refusal: 'malformed' } })
    }
    expect(await ask('X-Other: 1')).toMatchObject({ status: 200 })
  })

  it('pass where methods and paths do not matter', async () => {
    const ask = await askThrough({ name: NAME }, [secret({})])
    const answers = await Promise.all(HEADERS.map(ask))
    expect(answers.map(({ status }) => status)).toEqual(HEADERS.map(() => 200))
  })
})
