import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { hostPaths } from '../../host/host.ts'
import { TemplateStore } from '../template-store.ts'
import type { DirectoryTemplate } from '../template.ts'
import { UNPACK_LIMITS } from './image-limits.ts'
import { parseImageReference } from './image-reference.ts'
import { RegistrySource } from './oci-source.ts'
import { startFront } from './test-registry/front.ts'
import { compress, configOf, FAMILIES, layer, pushImage } from './test-registry/images.ts'
import { LocalRegistry } from './test-registry/local-registry.ts'

let registry: LocalRegistry
let home: string
let store: TemplateStore
beforeAll(async () => {
  registry = await LocalRegistry.start()
}, 30_000)
afterAll(async () => await registry[Symbol.asyncDispose]())
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hearth-oci-'))
  store = new TemplateStore(hostPaths({ HEARTH_HOME: home }))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

async function pull(name: string, progress: string[] = []): Promise<DirectoryTemplate> {
  const template = await store.resolve(name, { onProgress: (line) => progress.push(line) })
  if (template.kind !== 'directory') throw new Error('not a directory')
  return template
}

/** Nothing of a failed pull may stay: no root, no name, no workspace. */
function expectNothingLeft(): void {
  for (const part of ['roots', 'names', 'building']) {
    const path = join(home, 'templates', part)
    if (existsSync(path)) expect(readdirSync(path)).toEqual([])
  }
}

const base = layer([{ path: 'etc/name', content: 'base' }, { path: 'etc/gone' }])

describe('images from a registry', () => {
  it.each(['OCI', 'DOCKER'] as const)('are pulled in the form of %s', async (family) => {
    const name = `forms/${family.toLowerCase()}`
    const top = layer([{ path: 'etc/.wh.gone' }, { path: 'app/run', content: 'x', mode: 0o755 }])
    const config = { Env: ['PATH=/app:/bin', 'A=b=c', 'bad name=1'], WorkingDir: '/app', User: '1000:1000' }
    await pushImage(registry, [name, 'v1'], [base, top], { family, config })
    const template = await pull(`${registry.host}/${name}:v1`)
    expect(template).toMatchObject({ workdir: '/app', user: '1000:1000', environment: { PATH: '/app:/bin', A: 'b=c' } })
    expect(Object.keys(template.environment)).toEqual(['PATH', 'A'])
    expect(readFileSync(join(template.root, 'etc/name'), 'utf8')).toBe('base')
    expect(readdirSync(join(template.root, 'etc'))).toEqual(['name'])
    expect(lstatSync(join(template.root, 'app/run')).mode & 0o777).toBe(0o755)
  })

  it('may have layers of gzip, zstd or neither', async () => {
    const layers = (['gzip', 'zstd', 'none'] as const).map((kind) => layer([{ path: kind, content: kind }], kind))
    await pushImage(registry, ['kinds', 'latest'], layers)
    const { root, user, workdir } = await pull(`${registry.host}/kinds`)
    expect(readdirSync(root).toSorted()).toEqual(['gzip', 'none', 'zstd'])
    expect([user, workdir]).toEqual(['0', '/'])
  })

  it('are chosen from an index by platform, and found by digest', async () => {
    const { OCI } = FAMILIES
    const own = await pushImage(registry, ['many', 'own'], [base])
    const other = await pushImage(registry, ['many', 'other'], [base], { architecture: 's390x' })
    const platform = (architecture: string): object => ({ platform: { os: 'linux', architecture } })
    const arch = process.arch === 'x64' ? 'amd64' : process.arch
    const manifests = [
      { ...other, ...platform('s390x') },
      { ...own, ...platform(arch) },
    ]
    const index = { schemaVersion: 2, mediaType: OCI.index, manifests }
    const { digest } = await registry.pushManifest('many', 'all', index)
    const byIndex = await pull(`${registry.host}/many:all@${digest}`)
    expect((await pull(`${registry.host}/many@${own.digest}`)).root).toBe(byIndex.root)
    await expect(pull(`${registry.host}/many:other`)).rejects.toMatchObject({ code: 'image_invalid' })
  })

  it('are pulled once, and share layers', async () => {
    await pushImage(registry, ['shared', 'a'], [base])
    await pushImage(registry, ['shared', 'b'], [base, layer([{ path: 'b' }])])
    await pull(`${registry.host}/shared:a`)
    const again: string[] = []
    await pull(`${registry.host}/shared:a`, again)
    expect(again).toEqual([])
    await pull(`${registry.host}/shared:b`, again)
    expect(again.filter((line) => line.includes('fetching'))).toHaveLength(1)
  })

  it('follow a moved tag only when told to', async () => {
    await pushImage(registry, ['moved', 'x'], [base])
    const first = await pull(`${registry.host}/moved:x`)
    await pushImage(registry, ['moved', 'x'], [layer([{ path: 'new' }])])
    expect((await pull(`${registry.host}/moved:x`)).digest).toBe(first.digest)
    expect((await store.build(`${registry.host}/moved:x`, { force: true })).digest).not.toBe(first.digest)
    expect(existsSync(first.root)).toBe(true)
  })

  it.each([
    'no-registry',
    'name:tag',
    'UPPER',
    `localhost:1/UPPER`,
    'localhost/x@sha256:1',
    'localhost/../x',
    '',
    '/',
    'archive:',
  ])('are not named %j', async (name) => {
    await expect(store.resolve(name)).rejects.toMatchObject({ code: 'template_not_found' })
  })

  it('that are missing, and registries that do not answer', { timeout: 20_000 }, async () => {
    await expect(pull(`${registry.host}/absent:x`)).rejects.toMatchObject({ code: 'template_not_found' })
    await expect(pull('127.0.0.1:1/absent:x')).rejects.toMatchObject({ code: 'registry_failed' })
    expectNothingLeft()
  })
})

describe('logins', () => {
  it('with a token', async () => {
    await pushImage(registry, ['private/token', 'x'], [base])
    const scopes: unknown[] = []
    await using front = await startFront(registry.host, async (request, response) => {
      const url = new URL(request.url ?? '', 'http://front')
      if (url.pathname === '/token') {
        scopes.push(url.searchParams.get('scope'), request.headers.authorization)
        response.end(JSON.stringify({ token: 'secret-token' }))
        return true
      }
      if (request.headers.authorization === 'Bearer secret-token') return false
      const realm = `http://${request.headers.host}/token`
      response
        .writeHead(401, {
          'www-authenticate': `Bearer realm="${realm}",service="s",scope="repository:private/token:pull"`,
        })
        .end()
      return true
    })
    expect((await pull(`${front.host}/private/token:x`)).kind).toBe('directory')
    expect(scopes).toEqual(['repository:private/token:pull', undefined])
  })

  it('with a stored password', async () => {
    await pushImage(registry, ['private/basic', 'x'], [base])
    const auth = Buffer.from('user:password').toString('base64')
    await using front = await startFront(registry.host, async (request, response) => {
      if (request.headers.authorization === `Basic ${auth}`) return false
      response.writeHead(401, { 'www-authenticate': 'Basic realm="r"' }).end()
      return true
    })
    process.env['DOCKER_CONFIG'] = home
    try {
      await expect(pull(`${front.host}/private/basic:x`)).rejects.toMatchObject({ code: 'registry_failed' })
      writeFileSync(join(home, 'config.json'), JSON.stringify({ auths: { [front.host]: { auth } } }))
      expect((await pull(`${front.host}/private/basic:x`)).kind).toBe('directory')
    } finally {
      delete process.env['DOCKER_CONFIG']
    }
  })
})

describe('broken answers', () => {
  it.each(['manifests', 'blobs'])('%s that do not have their digest are refused', async (part) => {
    const { digest } = await pushImage(registry, ['broken', part], [base])
    await using front = await startFront(registry.host, async (request, response, upstream) => {
      if (request.url?.includes(`/${part}/`) !== true) return false
      const bytes = await upstream()
      bytes[bytes.length - 2] = (bytes[bytes.length - 2] ?? 0) ^ 1
      response.end(bytes)
      return true
    })
    await expect(pull(`${front.host}/broken:${part}@${digest}`)).rejects.toMatchObject({ code: 'image_invalid' })
    expectNothingLeft()
  })

  it('a connection that breaks and a registry that is busy are tried again', { timeout: 20_000 }, async () => {
    await pushImage(registry, ['flaky', 'x'], [base])
    let failures = 0
    await using front = await startFront(registry.host, async (request, response, upstream) => {
      if (request.url?.includes('/blobs/') !== true || failures >= 2) return false
      if (failures++ === 0) {
        response.writeHead(503).end()
        return true
      }
      const bytes = await upstream()
      response.writeHead(200, { 'content-length': bytes.length })
      response.write(bytes.subarray(0, 10))
      setTimeout(() => response.destroy(), 20)
      return true
    })
    expect((await pull(`${front.host}/flaky:x`)).kind).toBe('directory')
    expect(failures).toBe(2)
  })

  it('content that is not what the configuration says is refused, and not kept for others', async () => {
    const lie = layer([{ path: 'lie' }])
    const { OCI } = FAMILIES
    const config = await registry.pushBlob('lies', configOf([base]), OCI.config)
    const blob = await registry.pushBlob('lies', compress(lie), `${OCI.layer}+gzip`)
    await registry.pushManifest('lies', 'x', { schemaVersion: 2, mediaType: OCI.manifest, config, layers: [blob] })
    await expect(pull(`${registry.host}/lies:x`)).rejects.toMatchObject({ code: 'image_invalid' })
    expect(readdirSync(join(home, 'cache/layers'))).toEqual([])
    expectNothingLeft()
  })

  it.each([
    ['a bomb', layer([{ path: 'zeros', content: new Uint8Array(32 << 20) }])],
    ['a bomb of headers alone', layer(Array.from({ length: 5000 }, (_, index) => ({ path: `f${index}` })))],
    ['a truncated layer', { ...base, tar: base.tar.subarray(0, 700) }],
    ['a layer that is not an archive', { tar: Buffer.from('text'.repeat(1000)), compression: 'gzip' as const }],
  ])('%s is refused', async (name, each) => {
    const tag = name.replaceAll(' ', '-')
    await pushImage(registry, ['bad', tag], [each])
    const reference = parseImageReference(`${registry.host}/bad:${tag}`)
    if (reference === null) throw new Error('no reference')
    const source = new RegistrySource(reference, {
      cache: join(home, 'cache'),
      limits: { ...UNPACK_LIMITS, layerBytes: 1 << 20, entries: 1000 },
    })
    mkdirSync(join(home, 'workspace'))
    const context = {
      workspace: join(home, 'workspace'),
      progress: () => undefined,
      has: async () => false,
      signal: new AbortController().signal,
    }
    await expect(source.build(context)).rejects.toMatchObject({ code: 'image_invalid' })
  })
})
