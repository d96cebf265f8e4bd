import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { hostPaths } from '../host/host.ts'
import { startFront } from './oci/test-registry/front.ts'
import { layer, pushImage } from './oci/test-registry/images.ts'
import { LocalRegistry } from './oci/test-registry/local-registry.ts'
import { TemplateStore } from './template-store.ts'

let registry: LocalRegistry
let front: { host: string } & AsyncDisposable
let home: string
/** Layers asked for, and how long each answer is held back. */
let fetched = 0
let delayMs = 0
beforeAll(async () => {
  registry = await LocalRegistry.start()
  await pushImage(registry, ['slow', 'x'], [layer([{ path: 'file' }])])
  front = await startFront(registry.host, async (request) => {
    if (request.url?.includes('/blobs/') !== true) return false
    fetched++
    await sleep(delayMs)
    return false
  })
}, 30_000)
afterAll(async () => {
  await front[Symbol.asyncDispose]()
  await registry[Symbol.asyncDispose]()
})
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hearth-store-'))
  fetched = 0
  delayMs = 300
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const open = (): TemplateStore => new TemplateStore(hostPaths({ HEARTH_HOME: home }))
const name = (): string => `${front.host}/slow:x`
/** The configuration and the one layer. */
const ONE_PULL = 2

/** Resolves the template in another process. */
function elsewhere(): ChildProcess {
  const program = `
    import { TemplateStore } from ${JSON.stringify(join(import.meta.dirname, 'template-store.ts'))}
    import { hostPaths } from ${JSON.stringify(join(import.meta.dirname, '../host/host.ts'))}
    await new TemplateStore(hostPaths(process.env)).resolve(${JSON.stringify(name())})`
  return spawn(process.execPath, ['--input-type=module', '-e', program], {
    env: { HEARTH_HOME: home, PATH: process.env['PATH'] },
  })
}

async function waitFor(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(10)
}

describe('template store', () => {
  it('builds once for many callers of one process, and tells each of them', async () => {
    const store = open()
    const heard: string[][] = Array.from({ length: 5 }, () => [])
    const templates = await Promise.all(
      heard.map(async (lines) => await store.resolve(name(), { onProgress: (line) => lines.push(line) })),
    )
    expect(new Set(templates.map(({ digest }) => digest)).size).toBe(1)
    expect(fetched).toBe(ONE_PULL)
    expect(heard[0]?.length).toBeGreaterThan(0)
    for (const lines of heard) expect(lines).toEqual(heard[0])
  })

  it('builds once for several processes', { timeout: 30_000 }, async () => {
    const children = [elsewhere(), elsewhere()]
    const lines: string[] = []
    const own = waitFor(() => fetched > 0).then(
      async () => await open().resolve(name(), { onProgress: (line) => lines.push(line) }),
    )
    const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0] as number))
    expect(codes).toEqual([0, 0])
    expect((await own).kind).toBe('directory')
    expect(fetched).toBe(ONE_PULL)
    expect(lines).toEqual([expect.stringContaining('another process is building it')])
  })

  it(
    'is not held up by a process that died while building, and removes what it left',
    { timeout: 30_000 },
    async () => {
      delayMs = 60_000
      const child = elsewhere()
      await waitFor(() => fetched > 0)
      child.kill('SIGKILL')
      await once(child, 'exit')
      expect(readdirSync(join(home, 'templates/building'))).toHaveLength(1)
      expect(existsSync(join(home, 'templates/names'))).toBe(false)
      delayMs = 0
      await open().resolve(name())
      expect(readdirSync(join(home, 'templates/building'))).toEqual([])
    },
  )

  it('goes on for those who wait when another gives up, and stops with the last', async () => {
    const store = open()
    const controller = new AbortController()
    const impatient = store.resolve(name(), { signal: controller.signal })
    const patient = store.resolve(name())
    setTimeout(() => controller.abort(), 100)
    await expect(impatient).rejects.toMatchObject({ code: 'aborted' })
    expect((await patient).kind).toBe('directory')
    await store.remove(name())
    rmSync(join(home, 'cache'), { recursive: true })
    const alone = store.resolve(name(), { signal: AbortSignal.timeout(100) })
    await expect(alone).rejects.toMatchObject({ code: 'aborted' })
    await waitFor(() => readdirSync(join(home, 'templates/building')).length === 0)
    expect((await store.resolve(name())).kind).toBe('directory')
  })

  it('lists and removes', async () => {
    delayMs = 0
    const store = open()
    expect((await store.list()).map((each) => each.name)).toEqual(['code-interpreter', 'debian', 'host'])
    const template = await store.resolve(name())
    expect(await store.list()).toContainEqual(expect.objectContaining({ name: name(), digest: template.digest }))
    await store.remove(name())
    expect(readdirSync(join(home, 'templates/roots'))).toEqual([])
    await expect(store.remove(name())).rejects.toMatchObject({ code: 'template_not_found' })
    await expect(store.remove('host')).rejects.toMatchObject({ code: 'template_unsupported' })
  })

  it('builds again what is damaged', async () => {
    delayMs = 0
    const store = open()
    const { digest } = await store.resolve(name())
    const [record] = readdirSync(join(home, 'templates/names'))
    writeFileSync(join(home, 'templates/names', record ?? ''), '{"half":')
    expect((await store.resolve(name())).digest).toBe(digest)
    rmSync(join(home, 'templates/roots'), { recursive: true })
    expect((await store.resolve(name())).digest).toBe(digest)
  })
})
