import { afterAll, expect, test } from 'vitest'
import { frame } from '../packages/server/src/dialects/e2b/connect/frames.ts'
import { FILESYSTEM_SERVICE } from '../packages/server/src/dialects/e2b/envd/filesystem-service.ts'
import { PROCESS_SERVICE } from '../packages/server/src/dialects/e2b/envd/process-service.ts'
import { DIALECT_ROUTES, fill } from './support/dialect-routes.ts'
import { E2bRaw } from './support/e2b-raw.ts'
import type { RawRequest, Reply } from './support/e2b-server.ts'
import { seededRandom } from './support/seeded-random.ts'

const raw = await E2bRaw.start()
const { server, sandbox } = raw
afterAll(() => raw[Symbol.asyncDispose]())

const random = seededRandom(Number(process.env['HEARTH_FUZZ_SEED'] ?? 7))
const ROUNDS = Number(process.env['HEARTH_FUZZ_ROUNDS'] ?? 12)
/** Whatever is asked is answered, or broken off, within this time. */
const PATIENCE_MS = 10_000
/** What must be in no answer: where the server lives, and how its program looks inside. */
const INSIDE = new RegExp(`node:internal|\\bat \\S+ \\(|\\.ts:\\d+|${server.home}|link-secret`)

const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
const STRINGS = [
  '',
  'x',
  'host',
  '../../etc/passwd',
  // It is written and removed, too: without this one a sandbox still runs commands.
  '/etc/shadow',
  '\u0000',
  'ä\u{1f525}',
  'a'.repeat(5000),
  '%',
  '%00',
  '${7*7}',
  '__proto__',
  'sb_00000000000000000000',
  '0',
  '-1',
  "';--",
]
const KEYS = [
  'templateID',
  'timeout',
  'metadata',
  'envVars',
  'network',
  'volumeMounts',
  'count',
  'name',
  'memory',
  'tags',
  'target',
  'steps',
  'fromImage',
  'cmd',
  'timeout_seconds',
  'code',
  'template',
  'from_snapshot',
  'ttl_seconds',
  'persistent',
  'volumes',
  'port',
  'paths',
  'label',
  'language',
  'url',
  'events',
  'process',
  'path',
  'depth',
  'source',
  'destination',
  'watcherId',
  'input',
  'signal',
  '__proto__',
  'constructor',
] as const

function value(depth = 0): unknown {
  const scalars = [null, true, 0, -1, 1e308, 2 ** 53, 0.5, ...STRINGS]
  if (depth > 2 || random() < 0.6) return pick(scalars)
  if (random() < 0.5) return Array.from({ length: Math.floor(random() * 4) }, () => value(depth + 1))
  return object(depth + 1)
}

function object(depth = 0): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: Math.floor(random() * 6) }, () => [pick(KEYS), value(depth)]))
}

function body(): Buffer {
  const text = Buffer.from(JSON.stringify(object()))
  const kind = random()
  if (kind < 0.6) return text
  if (kind < 0.7) return text.subarray(0, Math.floor(random() * text.length))
  if (kind < 0.8) return Buffer.from(JSON.stringify(value()))
  return Buffer.from(Array.from({ length: Math.floor(random() * 200) }, () => Math.floor(random() * 256)))
}

/** An answer, or null for a connection that was broken off. */
async function answer(request: RawRequest): Promise<Reply | null> {
  const late = AbortSignal.timeout(PATIENCE_MS)
  const what = `${request.method} ${request.path}`
  return await new Promise((resolve, reject) => {
    late.addEventListener('abort', () => reject(new Error(`${what}: no answer`)))
    server.raw(request).then(resolve, () => resolve(null))
  })
}

/** Refused or carried out, but never a fault of the server's, and never a look into it. */
function requireSound(reply: Reply | null, what: string): void {
  if (reply === null) return
  const text = reply.body.toString('latin1')
  expect([500, 504], `${what}: ${text.slice(0, 300)}`).not.toContain(reply.status)
  expect(INSIDE.test(text), `${what}: ${text.slice(0, 300)}`).toBe(false)
}

test('every route of every dialect takes whatever comes', { timeout: 120_000 }, async () => {
  const nativeId = sandbox.sandboxId.replace(/^sb/, 'sb_')
  // What ends, stops or forks the sandbox is for others: there it must still run afterwards.
  const routes = DIALECT_ROUTES.filter(
    ({ method, path }) =>
      !/(pause|hibernate|stop|fork|fork-tree|snapshots|timeout|lifecycle)$/.test(path) &&
      !(method === 'DELETE' && path.endsWith('/{id}')),
  )
  let asked = 0
  for (let round = 0; round < ROUNDS; round++) {
    for (const { dialect, method, path } of routes) {
      const id = dialect === 'e2b' ? sandbox.sandboxId : nativeId
      const parameters = random() < 0.6 ? { id } : { id: pick(STRINGS), build: pick(STRINGS), name: pick(STRINGS) }
      const query =
        random() < 0.5
          ? ''
          : `?${pick(['path', 'limit', 'state', 'metadata', 'follow', 'nextToken'])}=${encodeURIComponent(pick(STRINGS))}`
      const content = method === 'GET' ? [] : [body()]
      const length = { 'content-length': String(content[0]?.length ?? 0) }
      const headers = {
        'x-api-key': server.key,
        authorization: `Bearer ${server.key}`,
        'content-type': pick(['application/json', 'text/plain', 'multipart/form-data; boundary=x', '']),
        ...length,
      }
      const place = fill(path, parameters) + query
      requireSound(
        await answer({ dialect, method, path: place, headers, body: content }),
        `${method} ${place} ${String(content[0])}`,
      )
      asked++
    }
  }
  expect(asked).toBe(ROUNDS * routes.length)
  expect((await sandbox.commands.run('echo alive')).stdout).toBe('alive\n')
})

test('every method of envd takes whatever frames come', { timeout: 120_000 }, async () => {
  const methods = [
    ...Object.keys(PROCESS_SERVICE).map((method) => `/process.Process/${method}`),
    ...Object.keys(FILESYSTEM_SERVICE).map((method) => `/filesystem.Filesystem/${method}`),
  ]
  const types = [
    'application/json',
    'application/proto',
    'application/connect+json',
    'application/connect+proto',
    'text/html',
  ]
  const encodings = ['identity', 'gzip', 'br', 'x']
  for (let round = 0; round < ROUNDS; round++) {
    for (const path of methods) {
      const type = pick(types)
      const good = frame(pick([0, 0, 0, 1, 2, 3, 0x80, 0xff]), body())
      const wrong = Buffer.from(good)
      if (random() < 0.3) wrong.writeUInt32BE(Math.floor(random() * 2 ** 32), 1)
      const cut = random() < 0.2 ? wrong.subarray(0, Math.floor(random() * wrong.length)) : wrong
      const content = type.startsWith('application/connect+') ? cut : body()
      const headers: Record<string, string> = {
        'content-type': type,
        'content-length': String(content.length),
        'connect-timeout-ms': '500',
      }
      if (random() < 0.2) headers['connect-content-encoding'] = pick(encodings)
      if (random() < 0.2) headers['content-encoding'] = pick(encodings)
      const named = { 'e2b-sandbox-id': sandbox.sandboxId, 'e2b-sandbox-port': '49983', 'x-access-token': raw.token }
      const request = { method: 'POST', path, headers: { ...named, ...headers }, body: [content] }
      requireSound(await answer(request), `${path} ${type} ${content.toString('latin1').slice(0, 200)}`)
    }
  }
  expect((await sandbox.commands.run('echo alive')).stdout).toBe('alive\n')
})
