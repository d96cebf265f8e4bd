import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RepositoryView, WorkspaceView } from '@hearth/contract'
import { Upstream } from '../workspaces/testing/upstream.ts'
import { documentedOperations, fillPath } from './testing/document.ts'
import { SAMPLES } from './testing/samples.ts'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
let upstream: Upstream
let repository: RepositoryView
let workspace: WorkspaceView

beforeAll(async () => {
  upstream = new Upstream()
  server = await TestServer.start()
  repository = await server.json('POST', '/v1/repositories', { json: { path: upstream.path }, status: 201 })
  workspace = await server.json('POST', '/v1/workspaces', { json: { repository: repository.id }, status: 201 })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  upstream[Symbol.dispose]()
})

describe('repositories and workspaces', () => {
  it('are those of one tenant: for another one they are not there', async () => {
    const key = await server.newKey(['admin'], 'stranger')
    const operations = (await documentedOperations(server)).filter(({ path }) =>
      /\{(repository|workspace)\}/.test(path),
    )
    expect(operations.length).toBeGreaterThanOrEqual(10)
    for (const operation of operations) {
      const path = fillPath(operation.path, { repository: repository.id, workspace: workspace.id })
      const sample = SAMPLES[operation.id]
      if (sample === undefined) throw new Error(`no sample for ${operation.id}`)
      const what = operation.path.includes('{repository}') ? 'repository' : 'workspace'
      expect(await server.refusal(operation.method, path, { ...sample.options, key }), operation.id).toMatchObject({
        status: 404,
        code: `${what}_not_found`,
      })
    }
    for (const what of ['repositories', 'workspaces'])
      expect(await server.json('GET', `/v1/${what}`, { key })).toEqual({ items: [], next: null })
    for (const wanted of [workspace.id, { repository: repository.id }]) {
      const json = { rung: 'simulated', workspace: wanted }
      expect(await server.refusal('POST', '/v1/sandboxes', { json, key })).toMatchObject({ status: 404 })
    }
    const collected = await server.json('POST', '/v1/workspaces/collect', { json: { unusedMs: 0, dirty: true }, key })
    expect(collected).toEqual({ workspaces: [], repositories: [], seeds: 0 })
  })

  it('are of this host only for who operates it, and of public addresses for everybody else', async () => {
    const key = await server.newKey(['admin'], 'stranger')
    const add = (json: object) => server.refusal('POST', '/v1/repositories', { json, key })
    expect(await add({ path: upstream.path })).toMatchObject({ status: 403, code: 'forbidden' })
    for (const url of [
      'ext::sh -c true',
      'file:///etc',
      'ssh://127.0.0.1/x',
      'git@127.0.0.1:x',
      '-oProxyCommand=x',
      'https://user:password@127.0.0.1/x',
      'git://127.0.0.1/x',
      'ssh://-oProxyCommand=x/y',
      'ssh://-oProxyCommand=x@127.0.0.1/y',
      'ssh://127.0.0.1:0/x',
      'git@127.0.0.1:-x',
      'ssh://git:password@127.0.0.1/x',
      'https://127.0.0.1/x?y',
      'http://10.0.0.1/x',
      'https://127.0.0.1/',
    ])
      expect(await add({ url }), url).toMatchObject({ status: 400, code: 'invalid_request' })
    for (const url of [
      'https://127.0.0.1:1/x',
      'http://localhost:1/x',
      'https://[::1]:1/x',
      'https://169.254.169.254/x',
    ])
      expect(await add({ url }), url).toMatchObject({
        code: 'repository_unreachable',
        message: expect.stringContaining('public'),
      })
  })

  it('repeat what was asked for with the same key', async () => {
    const call = { json: { repository: repository.id }, headers: { 'idempotency-key': 'k' }, status: 201 }
    const made = await server.json<WorkspaceView>('POST', '/v1/workspaces', call)
    expect(await server.json('POST', '/v1/workspaces', call)).toEqual(made)
    const other = { ...call, json: { repository: repository.id, branch: 'other' } }
    expect(await server.refusal('POST', '/v1/workspaces', other)).toMatchObject({ code: 'idempotency_conflict' })
    expect(await server.refusal('DELETE', `/v1/repositories/${repository.id}`)).toMatchObject({
      code: 'repository_in_use',
    })
    await server.json('DELETE', `/v1/workspaces/${made.id}`, { status: 204 })
  })

  it('count against the quota of their tenant', async () => {
    const [tenant, key] = [
      await server.store.tenants.findByName('stranger'),
      await server.newKey(['operator'], 'stranger'),
    ]
    await server.store.tenants.setQuotas(tenant?.id ?? '', { diskBytes: 1024 * 1024 * 1024 })
    const json = { path: upstream.path }
    expect(await server.refusal('POST', '/v1/workspaces', { json, key })).toMatchObject({ code: 'quota_exceeded' })
    const small = { ...json, diskBytes: 512 * 1024 * 1024 }
    const made = await server.json<WorkspaceView>('POST', '/v1/workspaces', { json: small, status: 201, key })
    expect(made.diskBytes).toBe(small.diskBytes)
    expect(await server.refusal('POST', '/v1/workspaces', { json: small, key })).toMatchObject({
      code: 'quota_exceeded',
    })
  })
})
