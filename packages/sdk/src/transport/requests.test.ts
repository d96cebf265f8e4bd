import { HearthError as ContractError } from '@hearth/contract'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HearthError } from '../hearth-error.ts'
import { failure, hangUp, ID, json, ScriptedServer, silence, view } from '../testing/scripted-server.fixture.ts'

let server: ScriptedServer
beforeEach(async () => {
  server = await ScriptedServer.listen()
})
afterEach(async () => await server[Symbol.asyncDispose]())

async function refusal(promise: Promise<unknown>): Promise<HearthError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof HearthError)) throw new Error(`no HearthError: ${String(error)}`)
  return error
}

describe('errors', () => {
  test('an error body becomes a typed error, also for the contract', async () => {
    server.on(`GET /sandboxes/${ID}`, failure(404, 'sandbox_not_found', 'there is none'))
    const error = await refusal(server.client().get(ID))
    expect(error).toMatchObject({ code: 'sandbox_not_found', message: 'there is none', suggestion: 'do this' })
    expect(error).toMatchObject({ retryable: false, requestId: 'req_1', context: { fact: 1, status: 404 } })
    expect(ContractError.isInstance(error)).toBe(true)
    expect(HearthError.isInstance(new ContractError('internal', 'x'))).toBe(true)
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ code: 'sandbox_not_found', requestId: 'req_1' })
  })

  test('an answer of something between is typed by its status', async () => {
    const client = server.client({ retries: 0 })
    const html = (status: number) =>
      server.on('GET /rungs', (_, response) => void response.writeHead(status).end('<html>'))
    for (const [status, code] of [
      [400, 'invalid_request'],
      [401, 'unauthorized'],
      [404, 'not_found'],
      [413, 'body_too_large'],
      [418, 'invalid_request'],
      [500, 'internal'],
      [502, 'link_lost'],
    ] as const) {
      html(status)
      expect((await refusal(client.rungs())).code, String(status)).toBe(code)
    }
  })

  test('a redirect is not followed, and says where to', async () => {
    server.on('GET /rungs', (_, response) => void response.writeHead(301, { location: 'https://other.test/' }).end())
    const error = await refusal(server.client().rungs())
    expect(error).toMatchObject({ code: 'invalid_request' })
    expect(error.message).toContain('https://other.test/')
  })

  test('an answer that is not JSON, or breaks off', async () => {
    const client = server.client({ retries: 0 })
    server.on('GET /rungs', (_, response) => void response.writeHead(200).end('hello'))
    expect((await refusal(client.rungs())).code).toBe('protocol_violation')
    server.on('GET /rungs', (_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{"items"')
      setTimeout(() => response.destroy(), 20)
    })
    expect(await refusal(client.rungs())).toMatchObject({ code: 'link_lost', retryable: true })
  })

  test('a server that is none of ours', async () => {
    const client = server.client()
    for (const body of [null, 7, [], {}, { items: 5 }, { id: '../..', state: 'running' }, { id: ID }]) {
      for (const path of [
        'GET /rungs',
        'GET /keys',
        'GET /sandboxes',
        `GET /sandboxes/${ID}`,
        'POST /sandboxes',
        'GET /events',
      ]) {
        server.on(path, json(body))
      }
      const calls: (() => Promise<unknown>)[] = [
        () => client.rungs(),
        () => client.keys.list(),
        () => client.page(),
        () => client.get(ID),
        () => client.create(),
        () => client.eventPage(),
        () => client.events().next(),
      ]
      for (const call of calls) {
        expect((await refusal(call())).code, JSON.stringify(body)).toBe('protocol_violation')
      }
    }
  })

  test('no server', async () => {
    await server[Symbol.asyncDispose]()
    const error = await refusal(server.client({ retries: 1 }).rungs())
    expect(error).toMatchObject({ code: 'link_lost', retryable: true, requestId: null })
    expect(error.message).toContain('ECONNREFUSED')
  })

  test('an error that comes after the status', async () => {
    server.on('POST /sandboxes', async (_, response) => {
      response.writeHead(201, { 'content-type': 'application/json' }).write('   ')
      response.end(JSON.stringify({ error: { code: 'launch_failed', message: 'no', retryable: true } }))
    })
    expect(await refusal(server.client().create())).toMatchObject({ code: 'launch_failed', retryable: true })
    expect(server.requests).toHaveLength(1)
  })

  test('options that are wrong', () => {
    for (const url of ['nowhere', 'ftp://127.0.0.1', 'http://user:secret@127.0.0.1', 'http://127.0.0.1/?key=1']) {
      expect(() => server.client({ url })).toThrow(HearthError)
    }
    expect(() => server.client({ apiKey: 'a\nb' })).toThrow(HearthError)
    expect(() => server.client({ timeoutMs: Number.NaN })).toThrow(HearthError)
  })

  test('identifiers never leave their place in the path', async () => {
    for (const id of ['..', '.', '', 'a/b', '%2e%2e', 'x?y', 7 as unknown as string]) {
      expect((await refusal(server.client().get(id))).code).toBe('invalid_request')
      expect((await refusal(server.client().keys.revoke(id))).code).toBe('invalid_request')
    }
    expect(server.requests).toEqual([])
  })
})

describe('retries', () => {
  const busy = failure(503, 'store_unavailable', 'busy', { retryable: true })

  test('a GET is repeated until it works', async () => {
    server.on(`GET /sandboxes/${ID}`, busy, hangUp, json(view()))
    expect((await server.client().get(ID)).id).toBe(ID)
    expect(server.requests).toHaveLength(3)
  })

  test('also when its answer breaks off', async () => {
    const broken: typeof hangUp = (_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{')
      setTimeout(() => response.destroy(), 10)
    }
    server.on('GET /rungs', broken, broken, json({ items: [] }))
    expect(await server.client().rungs()).toEqual([])
  })

  test('not for ever', async () => {
    server.on('GET /rungs', busy)
    expect((await refusal(server.client({ retries: 2 }).rungs())).code).toBe('store_unavailable')
    expect(server.requests).toHaveLength(3)
  })

  test('not for what does not pass', async () => {
    server.on('GET /rungs', failure(403, 'forbidden', 'no'))
    await refusal(server.client().rungs())
    expect(server.requests).toHaveLength(1)
  })

  test('a create is repeated with the same idempotency key, another create has another', async () => {
    server.on('POST /sandboxes', hangUp, failure(429, 'too_many', 'full', { retryable: true }), json(view(), 201))
    await server.client().create({ metadata: { a: 'b' } })
    await server.client().create()
    await server.client().create({}, { idempotencyKey: 'mine' })
    const keys = server.requests.map((request) => request.headers['idempotency-key'])
    expect(keys.slice(0, 3)).toEqual([keys[0], keys[0], keys[0]])
    expect(keys[3]).not.toBe(keys[0])
    expect(keys[4]).toBe('mine')
    expect(JSON.parse(server.requests[2]?.body.toString() ?? '')).toEqual({ metadata: { a: 'b' } })
  })

  test('the server says how long to wait', async () => {
    const limited: typeof hangUp = (_, response) => {
      response.setHeader('retry-after', '1')
      failure(429, 'rate_limited', 'slow down', { retryable: true })(_, response)
    }
    server.on('GET /rungs', limited, json({ items: [] }))
    const started = Date.now()
    expect(await server.client().rungs()).toEqual([])
    expect(Date.now() - started).toBeGreaterThanOrEqual(990)
  })

  test('a wait that is too long is for the caller to decide', async () => {
    server.on('GET /rungs', (request, response) => {
      response.setHeader('retry-after', '3600')
      failure(429, 'rate_limited', 'slow down', { retryable: true })(request, response)
    })
    expect((await refusal(server.client().rungs())).context).toMatchObject({ retryAfterMs: 3_600_000 })
    expect(server.requests).toHaveLength(1)
  })

  test('commands, signals, input and writes are never repeated', async () => {
    server.on(`GET /sandboxes/${ID}`, json(view()))
    const sandbox = await server.client().get(ID)
    for (const call of [
      () => sandbox.exec('true'),
      () => sandbox.spawn('true'),
      () => sandbox.runCode('1'),
      () => sandbox.renew(5000),
      () => sandbox.files.write('/x', 'y'),
      () => sandbox.files.remove('/x'),
    ]) {
      for (const path of ['exec', 'processes', 'code', 'renew']) server.on(`POST /sandboxes/${ID}/${path}`, hangUp)
      server.on(`PUT /sandboxes/${ID}/files`, hangUp).on(`DELETE /sandboxes/${ID}/files`, hangUp)
      const before = server.requests.length
      expect(await refusal(call())).toMatchObject({ code: 'link_lost' })
      expect(server.requests.length - before).toBe(1)
    }
  })
})

describe('giving up', () => {
  test('before, during, and between two attempts', async () => {
    server.on('GET /rungs', silence)
    const client = server.client()
    expect((await refusal(client.rungs({ signal: AbortSignal.abort() }))).code).toBe('aborted')
    expect(server.requests).toHaveLength(0)
    expect((await refusal(client.rungs({ signal: AbortSignal.timeout(30) }))).code).toBe('aborted')
    server.on('GET /rungs', (request, response) => {
      response.setHeader('retry-after', '20')
      failure(503, 'store_unavailable', 'busy', { retryable: true })(request, response)
    })
    expect((await refusal(client.rungs({ signal: AbortSignal.timeout(60) }))).code).toBe('aborted')
  })

  test('the time of a call', async () => {
    server.on('GET /rungs', silence)
    const client = server.client({ timeoutMs: 50 })
    expect(await refusal(client.rungs())).toMatchObject({ code: 'timeout', retryable: true })
    server.on('GET /rungs', (_, response) => void response.writeHead(200).write('{'))
    expect((await refusal(client.rungs())).code).toBe('timeout')
    expect(server.requests).toHaveLength(2)
  })

  test('a command may take any time, and a closed request is seen by the server', async () => {
    let closed = false
    server.on(`GET /sandboxes/${ID}`, json(view()))
    server.on(`POST /sandboxes/${ID}/exec`, async (request, response) => {
      await silence(request, response)
      closed = true
    })
    const sandbox = await server.client({ timeoutMs: 30 }).get(ID)
    const running = sandbox.exec('sleep 100', { signal: AbortSignal.timeout(150) })
    expect((await refusal(running)).code).toBe('aborted')
    await expect.poll(() => closed).toBe(true)
  })

  test('a signal that lives longer than its calls keeps no listener', async () => {
    server.on('GET /rungs', json({ items: [] }))
    const { signal } = new AbortController()
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...parts: Parameters<typeof add>) => {
      listeners++
      add(...parts)
    }
    signal.removeEventListener = (...parts: Parameters<typeof remove>) => {
      listeners--
      remove(...parts)
    }
    for (let index = 0; index < 3; index++) await server.client().rungs({ signal })
    expect(listeners).toBe(0)
  })
})
