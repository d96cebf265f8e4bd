import { createHash } from 'node:crypto'
import { Sandbox } from 'e2b'
import { afterAll, describe, expect, test } from 'vitest'
import { ApiProcess } from './support/api-process.ts'
import { json } from './support/e2b-raw.ts'
import { E2bServer, type Reply } from './support/e2b-server.ts'
import { WebhookReceiver } from './support/webhook-receiver.ts'

const RUNGS = (process.env['HEARTH_RUNGS']?.split(',') ?? ['process', 'gvisor']).filter((rung) => rung !== 'simulated')
const ALL = ['created', 'updated', 'paused', 'resumed', 'checkpointed', 'killed'].map(
  (label) => `sandbox.lifecycle.${label}`,
)
const secret = 'secret-for-event-signature-verification'

/** Where names lead, for the server of these tests. */
const names = new Map<string, readonly string[]>()
const resolve = async (name: string): Promise<readonly string[]> => names.get(name) ?? [name]
const server = await E2bServer.start({}, { networks: ['127.0.0.0/8'], retryMs: 50, timeoutMs: 500, resolve })
afterAll(() => server[Symbol.asyncDispose]())

async function call(method: string, path: string, body?: object, key = server.key): Promise<Reply> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  return await server.raw({ method, path, headers, body: body === undefined ? [] : [JSON.stringify(body)] })
}

async function register(url: string, change: object = {}): Promise<string> {
  const body = { name: 'mine', url, enabled: true, events: ALL, signatureSecret: secret, ...change }
  const answer = await call('POST', '/events/webhooks', body)
  expect(answer.status, answer.body.toString()).toBe(201)
  return (json(answer) as { id: string }).id
}

async function forget(id: string): Promise<void> {
  expect((await call('DELETE', `/events/webhooks/${id}`)).status).toBe(200)
}

/** As E2B's documentation has it for each of both alphabets. */
function verified({ body }: { body: string }, signature: unknown): boolean {
  const plain = createHash('sha256')
    .update(secret + body)
    .digest('base64')
    .replace(/=+$/, '')
  return signature === plain && signature === plain.replaceAll('+', '-').replaceAll('/', '_')
}

describe.each(RUNGS)('a webhook on %s', (rung) => {
  test('is told the life of a sandbox, in order, signed', async (context) => {
    if (!(await server.has(rung))) return context.skip(`${rung} does not work here`)
    await using receiver = await WebhookReceiver.start()
    const id = await register(receiver.url)
    const metadata = { 'hearth.rung': rung, purpose: 'told' }
    const sandbox = await Sandbox.create('host', { metadata })
    await sandbox.setTimeout(200_000)
    await sandbox.pause()
    await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 300_000 })
    await sandbox.updateNetwork({ allowOut: ['a.test'], denyOut: ['0.0.0.0/0'] })
    const snapshot = await sandbox.createSnapshot()
    await sandbox.kill()
    const told = ['created', 'updated', 'paused', 'resumed', 'updated', 'updated', 'checkpointed', 'killed']
    await expect.poll(() => receiver.types, { timeout: 10_000 }).toEqual(told)
    for (const { headers, body, path } of receiver.received) {
      expect(verified({ body }, headers['e2b-signature'])).toBe(true)
      expect(headers).toMatchObject({ 'e2b-webhook-id': id, 'e2b-signature-version': 'v1' })
      expect([path, headers['content-type']]).toEqual(['/hook?x=1', 'application/json'])
    }
    expect(new Set(receiver.received.map(({ headers }) => headers['e2b-delivery-id'])).size).toBe(told.length)
    const [created, updated] = receiver.received
    expect(created?.json).toMatchObject({
      version: 'v2',
      sandboxId: sandbox.sandboxId,
      sandbox_id: sandbox.sandboxId,
      sandboxTemplateId: 'host',
      sandbox_template_id: 'host',
      event_data: { sandbox_metadata: metadata },
      eventLabel: 'created',
    })
    expect(updated?.json['event_data']).toMatchObject({ set_timeout: expect.any(String) as string })
    expect(receiver.received.at(-1)?.json['event_data']).toMatchObject({
      execution: { vcpu_count: 1, memory_mb: 1024, execution_time: expect.any(Number) as number },
    })
    // The same as the API lists them.
    const listed = json(await call('GET', `/events/sandboxes/${sandbox.sandboxId}?orderAsc=true&limit=100`)) as {
      id: string
    }[]
    expect(listed.map((event) => event.id)).toEqual(receiver.received.map((each) => each.json['id']))
    await forget(id)
    await Sandbox.deleteSnapshot(snapshot.snapshotId)
  })
})

const metadata = { 'hearth.rung': 'process' }

/** A sandbox that lives for a moment: two events. */
async function happen(apiKey = server.key): Promise<string> {
  const { sandboxId } = await Sandbox.create('host', { metadata, apiKey })
  await Sandbox.kill(sandboxId, { apiKey })
  return sandboxId
}

describe('delivery', () => {
  test('is tried again, in order, and the receiver knows the event again', async () => {
    await using receiver = await WebhookReceiver.start()
    const id = await register(receiver.url)
    receiver.answer = () => (receiver.received.length < 3 ? 503 : 204)
    const sandboxId = await happen()
    await expect.poll(() => receiver.types).toEqual(['created', 'created', 'created', 'killed'])
    const [one, two] = receiver.received
    expect(one?.json['id']).toBe(two?.json['id'])
    expect(one?.headers['e2b-delivery-id']).not.toBe(two?.headers['e2b-delivery-id'])
    expect(receiver.received.at(-1)?.json['sandboxId']).toBe(sandboxId)
    await expect
      .poll(async () => json(await call('GET', `/events/webhooks/${id}`)))
      .toMatchObject({ lastError: null, lastDeliveredAt: expect.any(String) as string })
    await forget(id)
  })

  test('gives up an event that is always refused, and goes on with the next', { timeout: 60_000 }, async () => {
    await using receiver = await WebhookReceiver.start()
    const id = await register(receiver.url)
    receiver.answer = ({ json: event }) => (event['eventLabel'] === 'created' ? 400 : 200)
    await happen()
    await expect.poll(() => receiver.types.at(-1), { timeout: 30_000 }).toBe('killed')
    expect(receiver.types.filter((type) => type === 'created')).toHaveLength(8)
    await forget(id)
  })

  test('follows no redirect, and waits for nobody for ever, while others are told', async () => {
    await using silent = await WebhookReceiver.start()
    await using sends = await WebhookReceiver.start()
    await using good = await WebhookReceiver.start()
    silent.answer = () => null
    sends.answer = () => 302
    const ids = [await register(silent.url), await register(sends.url), await register(good.url)]
    await happen()
    await expect.poll(() => good.types).toEqual(['created', 'killed'])
    const failure = async (id: string | undefined): Promise<unknown> =>
      (json(await call('GET', `/events/webhooks/${id}`)) as { lastError: unknown }).lastError
    await expect.poll(() => failure(ids[0])).toBe('no answer within 500 ms')
    await expect.poll(() => failure(ids[1])).toBe('it answered with status 302')
    expect(sends.received.every(({ path }) => path === '/hook?x=1')).toBe(true)
    for (const id of ids) await forget(id)
  })

  test('is only of what was asked for, and of nothing while it is off', async () => {
    await using receiver = await WebhookReceiver.start()
    const id = await register(receiver.url, { events: ['sandbox.lifecycle.killed'] })
    await happen()
    await expect.poll(() => receiver.types).toEqual(['killed'])
    expect((await call('PATCH', `/events/webhooks/${id}`, { enabled: false })).status).toBe(200)
    await happen()
    const change = { enabled: true, events: ['sandbox.lifecycle.created'], name: 'other' }
    expect(json(await call('PATCH', `/events/webhooks/${id}`, change))).toMatchObject({ ...change, url: receiver.url })
    const sandboxId = await happen()
    await expect.poll(() => receiver.types).toEqual(['killed', 'created'])
    expect(receiver.received[1]?.json['sandboxId']).toBe(sandboxId)
    await forget(id)
  })

  test('survives kill -9 of the server, and a receiver that comes later', { timeout: 60_000 }, async () => {
    await using process = await ApiProcess.start({ dialects: ['e2b'] })
    await using receiver = await WebhookReceiver.start()
    const address = (): string => process.dialectUrl('e2b')
    const headers = { 'x-api-key': process.key }
    const body = JSON.stringify({ name: 'x', url: receiver.url, events: ALL, signatureSecret: secret })
    expect((await fetch(`${address()}/events/webhooks`, { method: 'POST', headers, body })).status).toBe(201)
    await receiver.close()
    const create = { method: 'POST', headers, body: JSON.stringify({ templateID: 'host', metadata }) }
    expect((await fetch(`${address()}/v2/sandboxes`, create)).status).toBe(201)
    await process.kill('SIGKILL')
    await receiver.listen()
    await process.start()
    await expect.poll(() => receiver.types, { timeout: 40_000 }).toContain('created')
    // Told once or, when the first answer was lost with the server, twice; never as two events.
    expect(new Set(receiver.received.map((each) => each.json['id'])).size).toBe(1)
  })
})

describe('addresses', () => {
  const wrong: readonly (readonly [object, number, RegExp])[] = [
    [{ url: 'http://169.254.169.254/latest' }, 403, /not a public address/],
    [{ url: 'http://[::ffff:10.0.0.1]/' }, 403, /not a public address/],
    [{ url: 'http://0x0a000001/' }, 403, /not a public address/],
    [{ url: 'http://[::1]:80/' }, 403, /not a public address/],
    [{ url: 'ftp://example.com/' }, 400, /url/],
    [{ url: 'file:///etc/passwd' }, 400, /url/],
    [{ url: 'http://user:pass@example.com/' }, 400, /password/],
    [{ url: 'nonsense' }, 400, /url/],
    [{ events: [] }, 400, /events/],
    [{ events: ['sandbox.lifecycle.nothing'] }, 400, /nothing/],
    [{ signatureSecret: '' }, 400, /signatureSecret/],
    [{ name: 'x'.repeat(200) }, 400, /name/],
  ]
  test.each(wrong)('%j is refused', async (change, status, message) => {
    const body = { name: 'x', url: 'https://hooks.example.com/', events: ALL, signatureSecret: secret, ...change }
    const answer = await call('POST', '/events/webhooks', body)
    expect(json(answer)).toEqual({ code: status, message: expect.stringMatching(message) as string })
  })

  test('are looked at with each delivery: a name that leads inside is never dialed', async () => {
    await using receiver = await WebhookReceiver.start()
    names.set('inside.example.com', ['169.254.169.254'])
    names.set('both.example.com', ['10.255.255.1', '127.0.0.1'])
    const inside = await register(`http://inside.example.com:${receiver.port}/hook`)
    const both = await register(`http://both.example.com:${receiver.port}/hook`)
    await happen()
    await expect.poll(() => receiver.types).toEqual(['created', 'killed'])
    expect(receiver.received[0]?.headers.host).toBe(`both.example.com:${receiver.port}`)
    await expect
      .poll(async () => json(await call('GET', `/events/webhooks/${inside}`)))
      .toMatchObject({ lastError: expect.stringContaining('not public') as string })
    await forget(inside)
    await forget(both)
  })

  test('of TLS need a certificate for their name', async () => {
    await using receiver = await WebhookReceiver.start()
    const id = await register(receiver.url.replace('http:', 'https:'))
    await happen()
    await expect
      .poll(async () => json(await call('GET', `/events/webhooks/${id}`)))
      .toMatchObject({ lastError: expect.stringContaining('the connection failed') as string })
    expect(receiver.received).toEqual([])
    await forget(id)
  })
})

describe('strangers', () => {
  test('see, change and hear nothing of other tenants', async () => {
    await using receiver = await WebhookReceiver.start()
    const id = await register(receiver.url)
    const foreign = await server.foreignKey()
    for (const [method, body] of [['GET'], ['PATCH', { enabled: false }], ['DELETE']] as const) {
      expect((await call(method, `/events/webhooks/${id}`, body, foreign)).status, method).toBe(404)
    }
    expect(json(await call('GET', '/events/webhooks', undefined, foreign))).toEqual([])
    await happen(foreign)
    const own = await happen()
    await expect.poll(() => receiver.types).toEqual(['created', 'killed'])
    expect(receiver.received.every((each) => each.json['sandboxId'] === own)).toBe(true)
    expect(json(await call('GET', '/events/sandboxes?types=sandbox.lifecycle.nothing'))).toMatchObject({ code: 400 })
    const { key } = await server.makeKey(['sandbox:read'])
    const body = { name: 'x', url: receiver.url, events: ALL, signatureSecret: secret }
    expect((await call('POST', '/events/webhooks', body, key)).status).toBe(403)
    const shown = (await call('GET', `/events/webhooks/${id}`, undefined, key)).body.toString()
    expect(shown).not.toContain(secret)
    await forget(id)
  })

  test('have so many and no more', async () => {
    const foreign = await server.foreignKey()
    const body = { name: 'x', url: 'https://hooks.example.com/', events: ALL, signatureSecret: secret }
    for (let count = 0; count < 20; count++) {
      expect((await call('POST', '/events/webhooks', body, foreign)).status).toBe(201)
    }
    expect(json(await call('POST', '/events/webhooks', body, foreign))).toMatchObject({
      message: expect.stringContaining('20 webhooks') as string,
    })
  })
})
