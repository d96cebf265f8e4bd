import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { effectiveConfiguration } from './effective-configuration.ts'
import { readConfiguration } from './read-configuration.ts'
import { serveOptionsOf } from './serve-options.ts'

const GUIDE = join(import.meta.dirname, '../../../../docs/operating.md')

let folder: string
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'hearth-configuration-'))))
afterAll(async () => await rm(folder, { recursive: true, force: true }))

async function read(content: string | object): Promise<Awaited<ReturnType<typeof readConfiguration>>> {
  const path = join(folder, 'hearth.json')
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return await readConfiguration(path)
}

describe('a file of settings', () => {
  it('is what the guide shows, which has every part', async () => {
    const example = /```jsonc\n([^]*?)```/.exec(await readFile(GUIDE, 'utf8'))?.[1] ?? ''
    const settings = await read(example)
    expect(Object.keys(settings)).toEqual(Object.keys(effectiveConfiguration({}, {})))
    await mkdir(join(folder, 'secrets'))
    await writeFile(join(folder, 'secrets/database-password'), 'p@ss/word\n')
    await writeFile(join(folder, 'secrets/secret-key'), `${'ab'.repeat(32)}\n`)
    await writeFile(join(folder, 'company-root.pem'), '-----BEGIN CERTIFICATE-----\n')
    expect(await serveOptionsOf(settings, {})).toMatchObject({
      database: 'postgres://hearth:p%40ss%2Fword@db.example.com/hearth',
      secretKey: 'ab'.repeat(32),
      limits: { requestsPerSecond: 200 },
      engine: { pool: { perShape: 8 }, gateway: { extraRoots: ['-----BEGIN CERTIFICATE-----\n'] } },
      lifecycle: { leaseMs: 30_000, admission: { creates: 50 }, housekeeping: { roundMs: 30_000 } },
      dialects: { e2b: { port: 7071, domain: 'e2b.example.com' }, policy: { presets: ['pypi', 'npm'] } },
    })
  })

  it('may be empty, and then says nothing', async () => {
    expect(await serveOptionsOf(await read({}), {})).toEqual(await serveOptionsOf({}, {}))
  })

  it('is what is printed: every setting, and a server that is given them is the same', async () => {
    const printed = effectiveConfiguration({ http: { jsonBytes: 77 } }, { HEARTH_HOME: '/srv/hearth' })
    expect(printed).toMatchObject({
      database: { url: 'sqlite:/srv/hearth/hearth.db' },
      http: { jsonBytes: 77, headerBytes: 32_768 },
    })
    expect(effectiveConfiguration(await read(printed), {})).toEqual(printed)
  })

  it('prints no secret', async () => {
    const printed = effectiveConfiguration(
      {
        database: { url: 'postgres://hearth:hidden-1@db.example.com/hearth?password=hidden-2' },
        telemetry: { url: 'http://127.0.0.1:4318/', headers: { authorization: 'hidden-3' } },
      },
      {},
    )
    expect(JSON.stringify(printed)).toContain('postgres://hearth@db.example.com/hearth')
    expect(JSON.stringify(printed)).not.toContain('hidden')
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_EXPORTER_OTLP_HEADERS: 'key=hidden' }
    expect(JSON.stringify(effectiveConfiguration({}, environment))).not.toContain('hidden')
  })

  it('gives way to the environment', async () => {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', HEARTH_POOL: 'off' }
    const settings = await read({ telemetry: { url: 'http://127.0.0.1:2/' }, pool: { memoryBytes: 5 } })
    const wanted = { telemetry: { url: 'http://127.0.0.1:1/v1/logs' } }
    expect(await serveOptionsOf(settings, environment)).toMatchObject(wanted)
    expect(effectiveConfiguration(settings, environment)).toMatchObject({ ...wanted, pool: false })
  })
})

describe('what is wrong with a file of settings', () => {
  it.each<[string | object, string[]]>([
    [{ httpp: {} }, ['httpp: there is no such setting; there are listen, publicUrl']],
    [{ http: { jsonbytes: 1 } }, ['http.jsonbytes: there is no such setting; it is called jsonBytes']],
    [{ home: '/srv' }, ['home: all commands need it, so that HEARTH_HOME names it']],
    [{ http: { jsonBytes: '1M' } }, ['http.jsonBytes: must be a number of bytes, and is text']],
    [{ http: { jsonBytes: 1.5 } }, ['http.jsonBytes: must be a whole number of bytes, and is no whole number']],
    [{ http: { headersMs: '1s' } }, ['http.headersMs: must be a number of milliseconds, and is text']],
    [{ http: { jsonBytes: 0 } }, ['http.jsonBytes: must be 1 or more']],
    [{ http: { headersMs: 2 ** 31 } }, ['http.headersMs: must be 2147483647 or less']],
    [{ http: { commandBytes: 2 ** 40 } }, ['http.commandBytes: must be 268435456 or less']],
    [{ http: [] }, ['http: must be an object, and is a list']],
    [{ listen: { port: 70_000 } }, ['listen.port: must be 65535 or less']],
    [{ log: { level: 'loud' } }, ['log.level: must be "debug" or "info" or "warn" or "error" or "silent"']],
    [{ pool: true }, ['pool: must be false or an object']],
    [
      { pool: { memory: 1 } },
      ['pool.memory: there is no such setting; there are memoryBytes, perShape, idleMs, quietMs'],
    ],
    [{ dialects: { e2b: { port: 'x' } } }, ['dialects.e2b.port: must be a number, and is text']],
    [
      { dialects: { e2b: { webhooks: { networks: ['10.0.0.0'] } } } },
      ['networks.0: must be a network such as 10.0.0.0/8'],
    ],
    [{ dialects: { policy: { presets: ['pypl'] } } }, ['dialects.policy.presets.0: must be "npm" or "pypi"']],
    [{ telemetry: {} }, ['telemetry.url: is missing']],
    [{ telemetry: { url: 'ftp://collector' } }, ['telemetry.url: must begin with http:// or https://']],
    [
      { prepare: 1, spareKeepers: null },
      ['prepare: must be true or false, and is a number', 'spareKeepers: must be a number, and is null'],
    ],
    ['[]', ['the file: must be an object, and is a list']],
    ['{"__proto__": {}}', ['__proto__: there is no such setting']],
    ['{"http": {},}', ['is no JSON', 'line 1']],
    ['{\n  // a comment\n  "publicUrl": "https://a/*b*/",\n  nothing\n}', ['is no JSON', 'line 4']],
  ])('%j', async (content, said) => {
    const failure = read(content)
    await expect(failure).rejects.toMatchObject({
      code: 'invalid_request',
      suggestion: expect.stringMatching(/./) as unknown,
    })
    for (const text of said) await expect(failure).rejects.toThrow(text)
  })

  it('is told of files that are not there or too large, and never with their content', async () => {
    await expect(readConfiguration(join(folder, 'none.json'))).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(readConfiguration(folder)).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(read(' '.repeat(1024 ** 2 + 1))).rejects.toThrow('larger than')
    const settings = await read({ gateway: { extraRootsFiles: ['hearth.json'] } })
    await expect(serveOptionsOf(settings, {})).rejects.toThrow('holds no certificate in PEM')
    const password = await read({ database: { passwordFile: 'hearth.json' } })
    await expect(serveOptionsOf(password, {})).rejects.toThrow('needs a database.url')
  })
})
