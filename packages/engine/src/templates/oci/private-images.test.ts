import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { hostPaths } from '../../host/host.ts'
import { TemplateStore } from '../template-store.ts'
import { startFront } from './test-registry/front.ts'
import { layer, pushImage } from './test-registry/images.ts'
import { LocalRegistry } from './test-registry/local-registry.ts'
import { BASIC, demandPassword, demandToken, LOGIN } from './test-registry/protected-registry.ts'

const IMAGE = 'team/secret'
let open: LocalRegistry
let home: string
let store: TemplateStore
beforeAll(async () => {
  open = await LocalRegistry.start()
  await pushImage(open, [IMAGE, 'x'], [layer([{ path: 'etc/secret', content: 'theirs' }])])
}, 30_000)
afterAll(async () => await open[Symbol.asyncDispose]())
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hearth-private-'))
  store = new TemplateStore(hostPaths({ HEARTH_HOME: home }))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

/** Everything that is written down below the home. */
function written(directory = home): string {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.name} ${readFileSync(join(entry.parentPath, entry.name)).toString('latin1')}`)
    .join('\n')
}

describe.each([
  ['a password', demandPassword],
  ['a token', demandToken],
])('a registry that demands %s', (_, protect) => {
  it('gives its images to whoever has it', { timeout: 30_000 }, async () => {
    await using registry = await protect(open)
    const name = `${registry.host}/${IMAGE}:x`
    await expect(store.build(name)).rejects.toMatchObject({ code: 'registry_failed' })
    const wrong = { ...LOGIN, password: 'another-password' }
    const said: string[] = []
    const failure = await store.build(name, { credentials: wrong, onProgress: (line) => said.push(line) }).then(
      () => null,
      (error: unknown) => error as Error,
    )
    expect(failure).toMatchObject({ code: 'registry_failed' })
    const template = await store.build(name, { credentials: LOGIN, onProgress: (line) => said.push(line) })
    expect(readFileSync(join((template as { root: string }).root, 'etc/secret'), 'utf8')).toBe('theirs')
    // What was built is for all.
    expect((await store.resolve(name)).digest).toBe(template.digest)
    const told = [written(), said.join(), failure?.message, JSON.stringify(failure)].join()
    for (const secret of [LOGIN.password, wrong.password, BASIC.slice(6)]) expect(told).not.toContain(secret)
  })

  it('gives them to one, and nobody else finds them', { timeout: 30_000 }, async () => {
    await using registry = await protect(open)
    const name = `${registry.host}/${IMAGE}:x`
    const handle = await store.pull({ name, credentials: LOGIN })
    const pulled = await store.resolve(handle)
    expect(pulled).toMatchObject({ kind: 'directory', name })
    const { root, digest } = pulled as { root: string; digest: string }
    expect(readFileSync(join(root, 'etc/secret'), 'utf8')).toBe('theirs')
    // Neither the name nor the image itself leads to it, and no layer is there for others.
    await expect(store.resolve(name)).rejects.toMatchObject({ code: 'registry_failed' })
    expect(existsSync(join(home, 'cache/layers'))).toBe(false)
    expect((await store.list()).some((each) => each.digest === digest)).toBe(false)
    expect((await store.build(`${open.host}/${IMAGE}:x`)).digest).not.toBe(digest)
    // It is kept while it is in use, and while something lies on it.
    expect(await store.collect(new Set())).toEqual([])
    await store.letGo(handle, new Set([digest]))
    expect(existsSync(root)).toBe(true)
    await expect(store.resolve(handle)).rejects.toMatchObject({ code: 'template_not_found' })
    expect((await store.pinned(name, digest))?.digest).toBe(digest)
    expect(await store.collect(new Set())).toEqual([digest])
    for (const secret of [LOGIN.password, BASIC.slice(6)]) expect(written()).not.toContain(secret)
  })
})

describe('credentials', () => {
  it('are for images of registries', async () => {
    for (const name of ['debian', 'archive:/tmp/x', 'no-registry'])
      await expect(store.build(name, { credentials: LOGIN })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(store.pull({ name: 'debian', credentials: LOGIN })).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('go neither where a registry redirects to nor where its tokens are redirected to', async () => {
    const seen: (string | undefined)[] = []
    await using thief = await startFront(open.host, async (request) => {
      seen.push(request.headers.authorization)
      return false
    })
    await using registry = await demandPassword(open)
    await using front = await startFront(registry.host, async (request, response) => {
      if (request.headers.authorization !== BASIC) {
        response.writeHead(401, { 'www-authenticate': 'Basic realm="r"' }).end()
        return true
      }
      response.writeHead(307, { location: `http://${thief.host}${request.url}` }).end()
      return true
    })
    const image = `${front.host}/${IMAGE}:x`
    expect(await store.pull({ name: image, credentials: LOGIN })).toMatch(/^private:/)
    expect(seen.length).toBeGreaterThan(2)
    expect(seen.every((authorization) => authorization === undefined)).toBe(true)
    seen.length = 0
    await using tokens = await startFront(open.host, async (request, response) => {
      const isToken = request.url?.startsWith('/token') === true
      if (isToken) response.writeHead(307, { location: `http://${thief.host}/token` }).end()
      else response.writeHead(401, { 'www-authenticate': `Bearer realm="http://${request.headers.host}/token"` }).end()
      return true
    })
    const other = { name: `${tokens.host}/${IMAGE}:x`, credentials: LOGIN }
    await expect(store.pull(other)).rejects.toMatchObject({ code: 'registry_failed' })
    expect(seen).toEqual([])
  })
})
