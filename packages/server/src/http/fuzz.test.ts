import { connect } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mutatedJson } from './testing/arbitrary-json.ts'
import { documentedOperations, fillPath, type DocumentedOperation, type OpenApi } from './testing/document.ts'
import { TestServer } from './testing/test-server.ts'

/** A call that takes longer than this hangs. */
const ANSWER_MS = 10_000
const TIME_MS = 15_000
/** Streams and waits end when the client leaves. */
const STAY_MS = 300
const ENDLESS =
  /^(exec\.|process\.(output|start)|files\.(watch|archive)|event\.list|run\.(events|messages)|port\.ready|code\.run)/
const RUN_BUDGET = { steps: 1, tokens: 1, dollars: null, wallTimeMs: 1 }

let server: TestServer
let ids: string[]
let run: string
let operations: DocumentedOperation[]
let components: Record<string, unknown>

beforeAll(async () => {
  server = await TestServer.start({
    jsonBodyMs: 1000,
    bodyIdleMs: 1000,
    previewConnectMs: 1000,
    wrongKeyBurst: 1e6,
    requestBurst: 1e6,
  })
  const tenant = await server.store.tenants.findByName('default')
  await server.store.tenants.setQuotas(tenant?.id ?? '', { sandboxes: 6 })
  ids = [(await server.sandbox()).id, (await server.sandbox({ rung: 'simulated' })).id]
  const made = { task: 'x', model: 'm', budget: RUN_BUDGET, owner: 'o' }
  run = (await server.json<{ run: { id: string } }>('POST', '/v1/runs', { json: made, status: 201 })).run.id
  // Keys, tenants and the two sandboxes stay as they are, so that every call has something to meet.
  const kept = new Set([
    'key.create',
    'key.revoke',
    'tenant.create',
    'tenant.key',
    'tenant.quotas',
    'tenant.delete',
    'tenant.key.revoke',
    // An image of any name would be fetched.
    'template.build',
    'sandbox.delete',
    'sandbox.renew',
    // Tries every rung, the first time, which takes long.
    'rung.list',
  ])
  operations = (await documentedOperations(server)).filter(({ id }) => !kept.has(id))
  components = (await server.json<OpenApi>('GET', '/openapi.json')).components.schemas
})
afterAll(() => server[Symbol.asyncDispose]())

interface Attempt {
  readonly operation: DocumentedOperation
  readonly values: Record<string, string>
  readonly query: string
  readonly body: string | Uint8Array<ArrayBuffer> | null
  readonly headers: Record<string, string>
}

const headerValue = fc.oneof(
  fc.constantFrom(
    'bytes=0-',
    'bytes=9-1',
    'text/event-stream',
    'gzip',
    '100-continue',
    '0',
    '*/*',
    'multipart/form-data; boundary=b',
    'application/json',
  ),
  fc.stringMatching(/^[\x21-\x7e]{1,60}$/),
)
const headers = fc.dictionary(
  fc.constantFrom(
    'accept',
    'content-type',
    'range',
    'if-range',
    'last-event-id',
    'idempotency-key',
    'x-request-id',
    'cookie',
    'x-forwarded-for',
    'x-hearth-key',
    'te',
  ),
  headerValue,
  { maxKeys: 3 },
)
const piece = fc.oneof(
  fc.constantFrom('1', '0', '-1', 'true', '/tmp', '/tmp/a', '%00', '%zz', '..', 'x'),
  fc.webSegment(),
  fc.string({ maxLength: 10 }).map(encodeSafely),
)

function attempts(): fc.Arbitrary<Attempt> {
  return fc.constantFrom(...operations).chain((operation) => {
    const query = fc
      .array(
        fc.tuple(fc.constantFrom(...(operation.query.length === 0 ? ['path'] : operation.query), 'metadata.a'), piece),
        { maxLength: 4 },
      )
      .map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&'))
    const values = fc.record({
      id: fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...ids) }, { weight: 1, arbitrary: piece }),
      process: fc.oneof(fc.constantFrom('1', '2', '3'), piece),
      run: fc.oneof({ weight: 6, arbitrary: fc.constant(run) }, { weight: 1, arbitrary: piece }),
      port: fc.oneof(fc.constantFrom('1', '80', '65536'), piece),
      path: piece,
    })
    const json = mutatedJson(operation.body, components).map(
      (value) => JSON.stringify(harmless(operation, value)) ?? 'x',
    )
    const none =
      operation.method === 'GET'
        ? fc.constant(null)
        : fc.uint8Array({ maxLength: 200 }).map((bytes) => new Uint8Array(bytes))
    const body =
      operation.body === null ? none : fc.oneof({ weight: 8, arbitrary: json }, { weight: 1, arbitrary: fc.string() })
    return fc.record({ operation: fc.constant(operation), values, query, body, headers })
  })
}

/** Nothing may run for long, and no template and no repository may be fetched from anywhere. */
function harmless(operation: DocumentedOperation, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  if (operation.id === 'sandbox.create') {
    const { template: _template, atLeast: _atLeast, workspace: _workspace, ...rest } = value as Record<string, unknown>
    return { ...rest, rung: 'simulated' }
  }
  if (operation.id === 'repository.add' || operation.id === 'workspace.create') {
    const { url: _url, ...rest } = value as Record<string, unknown>
    return { ...rest, path: '/nowhere' }
  }
  return /^(exec|code|process\.start)/.test(operation.id)
    ? { timeoutMs: 200, ...value, ...('timeoutMs' in value ? { timeoutMs: 200 } : {}) }
    : value
}

async function attempt({ operation, values, query, body, headers: given }: Attempt): Promise<void> {
  const path = `${fillPath(operation.path, values)}${query === '' ? '' : `?${query}`}`
  const sent = { 'content-type': operation.body === null ? 'application/octet-stream' : 'application/json', ...given }
  const signal = AbortSignal.timeout(ENDLESS.test(operation.id) ? STAY_MS : ANSWER_MS)
  const what = `${operation.method} ${path} ${typeof body === 'string' ? body : ''}`
  try {
    const answer = await server.call(operation.method, path, { headers: sent, body, signal })
    const text = await answer.text()
    expect(answer.status, `${what}: ${text}`).not.toBe(500)
    expect(answer.headers.get('x-request-id'), what).not.toBeNull()
    if (answer.status >= 400 && text !== '' && !operation.id.startsWith('port.forward')) {
      expect(JSON.parse(text), what).toMatchObject({ error: { code: expect.stringMatching(/^(?!internal$)/) } })
    }
  } catch (error) {
    // An archive of everything meets files that its user may not read, and then ends where everybody can see that it is not whole.
    if (operation.id === 'files.archive' && String(error).includes('terminated')) return
    if (!ENDLESS.test(operation.id) || !signal.aborted) throw new Error(what, { cause: error })
  }
}

describe('the API', () => {
  it('answers whatever it is sent, never with a failure of its own', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(attempts(), { minLength: 4, maxLength: 4 }),
        async (some) => void (await Promise.all(some.map(attempt))),
      ),
      {
        numRuns: 400,
        interruptAfterTimeLimit: TIME_MS,
        // A failure is shown as it was found: what a smaller one would do depends on what the sandboxes went through.
        endOnFailure: true,
      },
    )
    expect(
      server.lines.filter(({ outcome, code }) => outcome === 'failed' && (code === 'internal' || code === undefined)),
    ).toEqual([])
    expect(server.problems).toEqual([])
    for (const id of ids) await server.json('GET', `/v1/sandboxes/${id}`)
    await expect.poll(async () => await metric('hearth_streams_active'), { timeout: 5000 }).toBe(0)
  })

  it('outlives connections that are no HTTP', { timeout: 30_000 }, async () => {
    const fragment = fc.constantFrom(
      'GET ',
      'POST ',
      '/v1/sandboxes',
      '/',
      ' HTTP/1.1',
      '\r\n',
      '\r\n\r\n',
      'host: x\r\n',
      'host: 80-x.localhost\r\n',
      'transfer-encoding: chunked\r\n',
      'content-length: 5\r\n',
      'upgrade: websocket\r\nconnection: upgrade\r\n',
      'expect: 100-continue\r\n',
      '5\r\nhello\r\n',
      '0\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      '\0',
      'ÿ',
    )
    const bytes = fc.oneof(
      fc.array(fragment, { maxLength: 12 }).map((parts) => Buffer.from(parts.join(''), 'latin1')),
      fc.uint8Array({ maxLength: 400 }).map((some) => Buffer.from(some)),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(bytes, { minLength: 1, maxLength: 3 }), async (parts) => {
        const text = await send(parts)
        if (text !== '') expect(text).toMatch(/^HTTP\/1\.1 [1234]\d\d /)
      }),
      { numRuns: 150, interruptAfterTimeLimit: 5000 },
    )
    expect(await server.json('GET', '/health')).toMatchObject({ status: 'ok' })
  })
})

/** What comes back within a moment. */
async function send(parts: readonly Buffer[]): Promise<string> {
  const socket = connect(server.server.address.port, '127.0.0.1')
  let text = ''
  socket.on('data', (data) => (text += data.toString('latin1')))
  socket.on('error', () => {})
  for (const part of parts) socket.write(part)
  socket.end()
  await new Promise((resolve) => {
    socket.once('close', resolve)
    setTimeout(resolve, 100)
  })
  socket.destroy()
  return text
}

async function metric(name: string): Promise<number> {
  const text = await (await server.call('GET', '/metrics')).text()
  const values = text.split('\n').filter((line) => line.startsWith(`${name}{`))
  return values.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

function encodeSafely(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
