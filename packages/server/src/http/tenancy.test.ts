import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Scope } from '@hearth/contract'
import { documentedOperations, fillPath, type DocumentedOperation, type OpenApi } from './testing/document.ts'
import { EveryResource, type ResourceIds } from './testing/every-resource.ts'
import { namedInRequests } from './testing/named-in-requests.ts'
import { SAMPLES } from './testing/samples.ts'
import { TestServer, type CallOptions } from './testing/test-server.ts'

/**
 * What another tenant's key is told of everything that a path can name, by the beginning of the path. An operation that begins with
 * none of these fails the test: whoever adds one says here what strangers see of it.
 */
const OF_PATHS: Readonly<Record<string, readonly [status: number, code: string]>> = {
  '/v1/sandboxes/{id}': [404, 'sandbox_not_found'],
  '/v1/runs/{run}': [404, 'run_not_found'],
  '/v1/volumes/{volume}': [404, 'volume_not_found'],
  '/v1/snapshots/{snapshot}': [404, 'snapshot_not_found'],
  '/v1/repositories/{repository}': [404, 'repository_not_found'],
  '/v1/workspaces/{workspace}': [404, 'workspace_not_found'],
  '/v1/secrets/{name}': [404, 'secret_not_found'],
  '/v1/keys/{id}': [404, 'not_found'],
  '/v1/host-keys/{host}': [404, 'not_found'],
  // For operators alone, who see all tenants.
  '/v1/tenants/{tenant}': [403, 'forbidden'],
  '/v1/templates/{template}': [403, 'forbidden'],
}

/** These make something of the caller's own under a name that another tenant has too. */
const OWN_BY_NAME = new Set(['secret.put'])

type Request = (ids: ResourceIds) => CallOptions & { readonly query?: string; readonly path?: string }
type Naming = readonly [request: Request, refused: readonly [number, string] | 'empty']

const budget = { steps: 1, tokens: 1, dollars: null, wallTimeMs: 1 }
const NEVER = 'sb_00000000000000000000'
const create = (json: object): { json: object } => ({ json: { rung: 'simulated', ...json } })
const begin = (json: object): { json: object } => ({ json: { task: 'x', model: 'm', budget, owner: 'p', ...json } })

/** The same for what bodies and queries name. `empty`: a list without anything in it. */
const OF_REQUESTS: Readonly<Record<string, Naming>> = {
  'sandbox.create from': [({ snapshot }) => create({ from: snapshot }), [404, 'snapshot_not_found']],
  'sandbox.create secrets.secret': [
    ({ name }) => create({ secrets: [{ secret: name, env: 'KEY' }] }),
    [404, 'secret_not_found'],
  ],
  'sandbox.create volumes.volume': [
    ({ volume }) => ({ json: { rung: 'process', volumes: [{ volume, path: '/data' }] } }),
    [404, 'volume_not_found'],
  ],
  'sandbox.create workspace': [({ workspace }) => create({ workspace }), [404, 'workspace_not_found']],
  'sandbox.create workspace.repository': [
    ({ repository }) => create({ workspace: { repository } }),
    [404, 'repository_not_found'],
  ],
  'sandbox.create workspace.secret': [
    ({ name }) => create({ workspace: { url: 'http://127.0.0.1:1/x.git', secret: name } }),
    [404, 'secret_not_found'],
  ],
  'sandbox.merge child': [({ id }) => ({ path: id, json: { child: id } }), [404, 'sandbox_not_found']],
  'sandbox.diff ?since': [({ snapshot }) => ({ query: `?since=${snapshot}` }), [404, 'snapshot_not_found']],
  'repository.add secret': [
    ({ name }) => ({ json: { url: 'http://127.0.0.1:1/x.git', secret: name } }),
    [404, 'secret_not_found'],
  ],
  'workspace.create repository': [({ repository }) => ({ json: { repository } }), [404, 'repository_not_found']],
  'workspace.create secret': [
    ({ name }) => ({ json: { url: 'http://127.0.0.1:1/x.git', secret: name } }),
    [404, 'secret_not_found'],
  ],
  'run.create parent': [({ run }) => begin({ parent: run }), [404, 'run_not_found']],
  'run.list ?parent': [({ run }) => ({ query: `?parent=${run}` }), 'empty'],
  'run.list ?sandbox': [({ id }) => ({ query: `?sandbox=${id}` }), 'empty'],
  'event.list ?sandbox': [({ id }) => ({ query: `?sandbox=${id}` }), 'empty'],
}

/** Names that are of no resource of a tenant, and what the caller only reports of its own. */
const NO_RESOURCES = new Set([
  'sandbox.create template',
  'secret.put binding.placement.key',
  // The identifier of the caller's own run, whatever others call theirs.
  'run.create id',
  // A note of the client's for itself, which the server never looks up.
  'run.create workspace',
  // A choice of two words.
  'workspace.diff ?since',
  'run.events ?from',
])

const resources = new EveryResource()
let server: TestServer
let ids: ResourceIds
let operations: DocumentedOperation[]
let key: string
/** Something of the stranger's own, where a call must get past it. */
let own: string

beforeAll(async () => {
  server = await TestServer.start({ previewConnectMs: 500 })
  ids = await resources.make(server, (await server.sandbox()).id)
  operations = await documentedOperations(server)
  key = await server.newKey(['admin'], 'stranger')
  own = (await server.sandbox({}, key)).id
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  resources[Symbol.dispose]()
})

const setOf = (path: string): string[] => Object.keys(OF_PATHS).filter((begin) => `${path}/`.startsWith(`${begin}/`))

describe('a key of another tenant', () => {
  it('is told of nothing that a path names', async () => {
    const named = operations.filter(({ path }) => path.includes('{'))
    expect(named.filter(({ path }) => setOf(path).length !== 1).map(({ id }) => id)).toEqual([])
    for (const operation of named) {
      if (OWN_BY_NAME.has(operation.id)) continue
      const [set = ''] = setOf(operation.path)
      const { query = '', options = {} } = SAMPLES[operation.id] ?? {}
      const values = set === '/v1/keys/{id}' ? { id: ids.key } : { ...ids, template: 'host' }
      const path = fillPath(operation.path, { ...values, process: '1', port: '8080', path: 'x' }) + query
      const { status, code } = await server.refusal(operation.method, path, { ...options, key })
      expect([status, code], operation.id).toEqual(OF_PATHS[set])
    }
  })

  it('is told of nothing that a body or a query names', async () => {
    const document = await server.json<OpenApi>('GET', '/openapi.json')
    const found = namedInRequests(document).filter((name) => !NO_RESOURCES.has(name) && !name.startsWith('run.append '))
    expect(found.toSorted()).toEqual(Object.keys(OF_REQUESTS).toSorted())
    for (const [name, [request, refused]] of Object.entries(OF_REQUESTS)) {
      const operation = operations.find(({ id }) => id === name.slice(0, name.indexOf(' ')))
      const { query = '', path: _, ...options } = request(ids)
      const path = fillPath(operation?.path ?? '', { id: own }) + query
      const answer = await server.call(operation?.method ?? '', path, { ...options, key })
      const body = (await answer.json()) as { error?: { code: string }; items?: unknown[] }
      if (refused === 'empty') expect([answer.status, body.items], name).toEqual([200, []])
      else expect([answer.status, body.error?.code], name).toEqual(refused)
    }
  })

  it('sees nothing of it in any list, and changes nothing', async () => {
    const lists = operations.filter(
      ({ id }) => id.endsWith('.list') && !/^(rung|template|tenant|process|files)\./.test(id),
    )
    expect(lists.length).toBeGreaterThan(7)
    const hidden = Object.values(ids)
    for (const { method, path } of lists) {
      const text = JSON.stringify(await server.json(method, path, { key }))
      for (const id of hidden) expect(text, path).not.toContain(id)
    }
    const json = { value: 'another value of that name', binding: { name: 'b.example', placement: { in: 'basic' } } }
    await server.json('PUT', `/v1/secrets/${ids.name}`, { json, key })
    expect(await server.json('GET', `/v1/secrets/${ids.name}`)).toMatchObject({ binding: { name: 'api.example.com' } })
    const paths = ['sandboxes', 'volumes', 'snapshots', 'repositories', 'workspaces', 'runs'] as const
    const names = ['id', 'volume', 'snapshot', 'repository', 'workspace', 'run'] as const
    for (const [index, name] of names.entries()) await server.json('GET', `/v1/${paths[index]}/${ids[name]}`)
  })

  it.each([
    ['attach', (id: string) => [`/v1/sandboxes/${id}/processes/1/attach`, '127.0.0.1']],
    ['a stream of a port', (id: string) => [`/v1/sandboxes/${id}/ports/8080/stream`, '127.0.0.1']],
    ['a WebSocket by path', (id: string) => [`/v1/sandboxes/${id}/ports/8080/socket`, '127.0.0.1']],
    ['a WebSocket by host', (id: string) => ['/socket', `8080-${id.replace('_', '-')}.localhost`]],
  ])('upgrades nothing: %s', async (_, target) => {
    for (const [id, given] of [
      [ids.id, key],
      [NEVER, server.key],
    ] as const) {
      const [path = '', host = ''] = target(id)
      expect(await upgrade(path, host, given)).toMatch(/^HTTP\/1\.1 404 [^]*"code":"sandbox_not_found"/)
    }
    const weak = await server.newKey(['sandbox:read'] satisfies Scope[])
    const [path = '', host = ''] = target(ids.id)
    expect(await upgrade(path, host, weak)).toMatch(/^HTTP\/1\.1 403 [^]*"code":"forbidden"/)
  })
})

/** All that is answered to a handshake. */
async function upgrade(path: string, host: string, token: string): Promise<string> {
  const { port } = server.server.address
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (data) => (text += data.toString()))
  const lines = [
    `GET ${path} HTTP/1.1`,
    `host: ${host}:${port}`,
    `authorization: Bearer ${token}`,
    'connection: upgrade',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    'sec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==',
  ]
  socket.end(`${lines.join('\r\n')}\r\n\r\n`)
  await once(socket, 'close')
  return text
}
