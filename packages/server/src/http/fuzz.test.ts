import { connect } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mutatedJson } from './testing/arbitrary-json.ts'
import { documentedOperations, fillPath, type DocumentedOperation, type OpenApi } from './testing/document.ts'
import { EveryResource, type ResourceIds } from './testing/every-resource.ts'
import { heldByProcess } from './testing/held-by-process.ts'
import { TestServer } from './testing/test-server.ts'

/** Descriptors and children that may be there at any moment: a worker that tidies the database up has eight. */
const SLACK = 12
/** A call that takes longer than this hangs. */
const ANSWER_MS = 10_000
const TIME_MS = 15_000
/** Streams and waits end when the client leaves. */
const STAY_MS = 300
const ENDLESS =
  /^(exec\.|process\.(output|start)|files\.(watch|archive)|event\.list|run\.(events|messages)|port\.ready|code\.run)/
/** Keys and the tenant of the caller stay as they are, so that every call has something to meet. */
const KEPT = new Set([
  'key.create',
  'key.revoke',
  'tenant.create',
  'sandbox.delete',
  'sandbox.stop',
  'sandbox.renew',
  // Would fetch what it is given a name of.
  'template.build',
  // Tries every rung, the first time, which takes long.
  'rung.list',
])
/** What these name goes: there is one of each for them too. */
const REMOVING = /\.(remove|delete)$/

const resources = new EveryResource()
let server: TestServer
let ids: string[]
let known: ResourceIds
let removed: ResourceIds
let operations: DocumentedOperation[]
let components: Record<string, unknown>

beforeAll(async () => {
  server = await TestServer.start({
    jsonBodyMs: 1000,
    bodyIdleMs: 1000,
    previewConnectMs: 1000,
    wrongKeyBurst: 1e6,
    requestBurst: 1e6,
    // Connections that the client keeps for later go, so that what is left can be counted.
    keepAliveMs: 300,
  })
  const tenant = await server.store.tenants.findByName('default')
  await server.store.tenants.setQuotas(tenant?.id ?? '', { sandboxes: 6 })
  ids = [(await server.sandbox()).id, (await server.sandbox({ rung: 'simulated' })).id]
  known = await resources.make(server, ids[0] ?? '')
  removed = await resources.make(server, ids[0] ?? '')
  operations = (await documentedOperations(server)).filter(({ id }) => !KEPT.has(id))
  components = (await server.json<OpenApi>('GET', '/openapi.json')).components.schemas
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  resources[Symbol.dispose]()
})

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
      ...named(REMOVING.test(operation.id) ? removed : known),
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

/** Mostly what is there. */
function named({ id: _id, ...others }: ResourceIds): Record<string, fc.Arbitrary<string>> {
  return Object.fromEntries(
    Object.entries(others).map(([name, id]) => [
      name,
      fc.oneof({ weight: 6, arbitrary: fc.constant(id) }, { weight: 1, arbitrary: piece }),
    ]),
  )
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
  it('answers whatever it is sent, never with a failure of its own', { timeout: 90_000 }, async () => {
    // What is opened at the first use stays open.
    await fc.assert(
      fc.asyncProperty(attempts(), async (one) => await attempt(one)),
      { numRuns: 60, endOnFailure: true },
    )
    await remain(ids)
    await settle()
    const before = heldByProcess()
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
    await remain(ids)
    await expect.poll(async () => await metric('hearth_streams_active'), { timeout: 5000 }).toBe(0)
    await settle()
    const after = heldByProcess()
    for (const what of ['descriptors', 'children', 'streams'] as const)
      expect(after[what], what).toBeLessThanOrEqual(before[what] + SLACK)
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

/** Those that calls were made with still run commands; what calls have made besides is ended. */
async function remain(kept: readonly string[]): Promise<void> {
  const { items } = await server.json<{ items: { id: string }[] }>('GET', '/v1/sandboxes?limit=1000')
  for (const { id } of items) if (!kept.includes(id)) await server.call('DELETE', `/v1/sandboxes/${id}`)
  for (const id of kept) {
    // Calls may have taken its home away from it.
    const json = { command: 'echo runs', cwd: '/' }
    expect(await server.json('POST', `/v1/sandboxes/${id}/exec`, { json })).toMatchObject({ stdout: 'runs\n' })
  }
}

/** Until connections that nobody uses have gone. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 1000))
}

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
