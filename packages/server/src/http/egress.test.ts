import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EventView, ForkView, PolicyView, RecordVerdict, SecretView } from '@hearth/contract'
import { makeKey } from '../workspaces/testing/ssh-server.ts'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await TestServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

const VALUE = 'the real value of a secret'
const binding = { name: 'api.example.com', placement: { in: 'header', header: 'authorization' } }

describe('secrets', () => {
  it('are stored, listed and removed, and their values come out of no route', async () => {
    const json = { value: VALUE, binding: { ...binding, methods: ['GET'], paths: ['/v1/**'] } }
    const stored = await server.json<SecretView>('PUT', '/v1/secrets/TOKEN', { json })
    expect(stored).toMatchObject({ name: 'TOKEN', binding: { name: 'api.example.com', methods: ['GET'] } })
    const all = await server.json<{ items: SecretView[] }>('GET', '/v1/secrets')
    expect(all.items).toEqual([stored])
    expect(await server.json('GET', '/v1/secrets/TOKEN')).toEqual(stored)
    const { id } = await server.sandbox({ rung: 'simulated', secrets: [{ secret: 'TOKEN', env: 'KEY' }] })
    const policy = await server.json<PolicyView>('GET', `/v1/sandboxes/${id}/policy`)
    expect(policy.secrets).toEqual([{ secret: 'TOKEN', env: 'KEY' }])
    const seen = [stored, all, policy, await server.json('GET', `/v1/events?sandbox=${id}`), server.lines]
    expect(JSON.stringify(seen)).not.toContain(VALUE)
    await server.json('DELETE', '/v1/secrets/TOKEN', { status: 204 })
    expect(await server.refusal('DELETE', '/v1/secrets/TOKEN')).toMatchObject({ status: 404, code: 'secret_not_found' })
  })

  it.each([
    [{ value: 'short', binding }],
    [{ value: `${VALUE}\n`, binding }],
    [{ value: VALUE }],
    [{ value: VALUE, binding: { ...binding, name: '10.0.0.1' } }],
    [{ value: VALUE, binding: { name: 'a.test', placement: { in: 'cookie' } } }],
    [{ value: VALUE, binding: { ...binding, placement: { in: 'header', header: 'a b' } } }],
  ])('are refused when they could not be used: %j', async (json) => {
    const refusal = await server.refusal('PUT', '/v1/secrets/WRONG', { json })
    expect(refusal).toMatchObject({ status: 400, code: 'invalid_request' })
    expect(refusal.message).not.toContain(VALUE)
  })

  it('are each tenant’s own, and no sandbox begins without those that it names', async () => {
    await server.json('PUT', '/v1/secrets/MINE', { json: { value: VALUE, binding } })
    const key = await server.newKey(['admin'], 'stranger')
    for (const method of ['GET', 'DELETE']) {
      const refusal = await server.refusal(method, '/v1/secrets/MINE', { key })
      expect(refusal).toMatchObject({ status: 404, code: 'secret_not_found' })
    }
    expect(await server.json('GET', '/v1/secrets', { key })).toEqual({ items: [], next: null })
    const spec = { rung: 'simulated', secrets: [{ secret: 'MINE' }] }
    expect(await server.refusal('POST', '/v1/sandboxes', { key, json: spec })).toMatchObject({
      code: 'secret_not_found',
    })
    expect(await server.refusal('GET', '/v1/secrets/..%2fkeys')).toMatchObject({ code: 'secret_not_found' })
  })
})

describe('a private key of ssh', () => {
  const put = async (value: string, change: object = {}) => {
    const json = { value, binding: { name: 'git.example.com', placement: { in: 'ssh' }, ...change } }
    return await server.call('PUT', '/v1/secrets/DEPLOY', { json })
  }

  it('is stored as other secrets are, and no sandbox can use it', async () => {
    const key = await makeKey()
    const hostKeys = [`ssh-ed25519 ${'A'.repeat(68)}`]
    const answer = await put(key.replaceAll('\n', '\r\n'), {
      placement: { in: 'ssh', hostKeys },
      branches: ['agent/*'],
    })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({
      binding: { placement: { in: 'ssh', hostKeys }, branches: ['agent/*'] },
    })
    const refusal = await server.refusal('POST', '/v1/sandboxes', {
      json: { rung: 'simulated', secrets: [{ secret: 'DEPLOY' }] },
    })
    expect(refusal).toMatchObject({ status: 400, code: 'invalid_request' })
    // What a sandbox has under that name already becomes nothing that it could use.
    await server.json('PUT', '/v1/secrets/LATER', { json: { value: VALUE, binding } })
    const { id } = await server.sandbox({ rung: 'simulated', secrets: [{ secret: 'LATER' }] })
    const json = { value: key, binding: { name: 'api.example.com', placement: { in: 'ssh' } } }
    await server.json('PUT', '/v1/secrets/LATER', { json })
    const seen = [
      await server.json('GET', '/v1/secrets'),
      await server.json('GET', `/v1/sandboxes/${id}`),
      server.lines,
    ]
    const [, body = ''] = key.split('\n')
    expect(JSON.stringify(seen)).not.toContain(body)
  })

  it('is refused with a passphrase, and when it is none', async () => {
    const locked = await makeKey('correct horse')
    const pem = `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n${'A'.repeat(64)}\n-----END RSA PRIVATE KEY-----\n`
    for (const value of [locked, pem, locked.replaceAll('OPENSSH', 'ENCRYPTED')]) {
      const refusal = await (await put(value)).json()
      expect(JSON.stringify(refusal)).toMatch(/invalid_request.*passphrase.*ssh-keygen/)
    }
    const key = await makeKey()
    const wrong = ['not a key at all', key.slice(0, 100), `${key}${key}`, key.replaceAll('OPENSSH', 'DSA'), `#${key}`]
    for (const value of wrong) expect((await put(value)).status, value).toBe(400)
    expect((await put(key, { methods: ['GET'] })).status).toBe(400)
    expect((await put(key, { paths: ['/x'] })).status).toBe(400)
    for (const hostKey of ['ssh-dss AAAA', 'x', `ssh-rsa ${'A'.repeat(50)}\nother`, `* ssh-rsa ${'A'.repeat(50)}`])
      expect((await put(key, { placement: { in: 'ssh', hostKeys: [hostKey] } })).status, hostKey).toBe(400)
  })
})

describe('the policy of a sandbox', () => {
  it('is nothing at first, is shown as it is in force, and changes while it runs', async () => {
    const { id } = await server.sandbox()
    const path = `/v1/sandboxes/${id}/policy`
    expect(await server.json('GET', path)).toEqual({
      policy: {},
      effective: { mode: 'enforce', allow: [], deny: [], budgets: {} },
      secrets: [],
    })
    const json = {
      allow: ['A.example.com:8443'],
      presets: ['pypi'],
      deny: ['b.example.com'],
      budgets: { connections: 5 },
    }
    const changed = await server.json<PolicyView>('PUT', path, { json })
    expect(changed.effective.allow).toMatchObject([
      { name: 'a.example.com', ports: [8443] },
      { ports: [443] },
      { ports: [443] },
    ])
    expect(changed.effective.budgets).toEqual({ connections: 5 })
    expect(await server.json('GET', path)).toEqual(changed)
    for (const wrong of [
      { allow: ['10.0.0.1'] },
      { allow: [{ name: '*.a.test', addresses: ['10.0.0.0/8'] }] },
      { x: 1 },
    ])
      expect(await server.refusal('PUT', path, { json: wrong })).toMatchObject({ status: 400, code: 'invalid_request' })
    expect(await server.json('GET', path)).toEqual(changed)
    // It counts for the children too, unless they are given another one.
    const fork = { count: 2, each: [{ policy: {} }] }
    const { children } = await server.json<ForkView>('POST', `/v1/sandboxes/${id}/fork`, { json: fork, status: 201 })
    const views = children.map((child) => server.json<PolicyView>('GET', `/v1/sandboxes/${child.id}/policy`))
    expect((await Promise.all(views)).map(({ policy }) => policy)).toEqual([{}, changed.policy])
    await server.json('POST', `/v1/sandboxes/${id}/pause`)
    expect(await server.json<PolicyView>('PUT', path, { json: {} })).toMatchObject({ policy: {} })
    const { items } = await server.json<{ items: EventView[] }>('GET', `/v1/events?sandbox=${id}`)
    const told = items.filter(({ type }) => type === 'policy.changed').map(({ data }) => data['policy'])
    expect(told).toEqual([changed.policy, {}])
  })
})

describe('the record of a sandbox', () => {
  it('has the step that a client names, and is verified also when the sandbox is gone', async () => {
    const { id } = await server.sandbox()
    await server.json('POST', `/v1/sandboxes/${id}/exec`, { json: { command: 'echo hello', step: 'plan 1' } })
    await server.json('DELETE', `/v1/sandboxes/${id}`, { status: 204 })
    const { items } = await server.json<{ items: EventView[] }>('GET', `/v1/events?sandbox=${id}`)
    const steps = items.filter(({ data }) => data['step'] === 'plan 1').map(({ type }) => type)
    expect(steps).toEqual(['command.started', 'command.exited'])
    expect(items.every(({ hash }) => /^[0-9a-f]{64}$/.test(hash ?? ''))).toBe(true)
    const verdict = await server.json<RecordVerdict>('GET', `/v1/sandboxes/${id}/record`)
    expect(verdict).toMatchObject({ valid: true, entries: items.length, head: { hash: items.at(-1)?.hash } })
    const key = await server.newKey(['admin'], 'stranger')
    expect(await server.refusal('GET', `/v1/sandboxes/${id}/record`, { key })).toMatchObject({
      code: 'sandbox_not_found',
    })
  })
})
