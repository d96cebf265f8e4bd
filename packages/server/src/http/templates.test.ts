import { join } from 'node:path'
import type { TemplateBuildEvent, TemplateView } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allEvents } from './testing/events.ts'
import { saveImage } from './testing/save-image.ts'
import { TestServer } from './testing/test-server.ts'

interface TemplatePage {
  readonly items: TemplateView[]
  readonly next: string | null
}

let server: TestServer
/** An image in a file of the host. */
let image: string
beforeAll(async () => {
  server = await TestServer.start()
  const path = join(server.home, 'image.tar')
  image = `archive:${path}`
  saveImage(path)
})
afterAll(() => server[Symbol.asyncDispose]())

const namesOf = ({ items }: TemplatePage): string[] => items.map(({ name }) => name)
const list = async (query = '', key = server.key): Promise<TemplatePage> =>
  await server.json<TemplatePage>('GET', `/v1/templates${query}`, { key })

describe('templates of a host', () => {
  it('are built, listed in pages and removed by operators', async () => {
    expect(namesOf(await list())).toEqual(['code-interpreter', 'debian', 'host'])
    const built = await server.json<TemplateView>('POST', '/v1/templates', { json: { name: image } })
    expect(built).toEqual({ name: image, digest: expect.stringMatching(/^sha256:/), builtAt: expect.any(String) })
    const first = await list('?limit=2')
    expect(namesOf(first)).toEqual([image, 'code-interpreter'])
    const second = await list(`?limit=2&cursor=${first.next}`)
    expect([namesOf(second), second.next]).toEqual([['debian', 'host'], null])
    // What is there is not built again.
    expect(await server.json('POST', '/v1/templates', { json: { name: image } })).toEqual(built)
    const again = await server.json<TemplateView>('POST', '/v1/templates', { json: { name: image, force: true } })
    expect(again).toMatchObject({ name: image, digest: built.digest })
    expect(again.builtAt).not.toBe(built.builtAt)
    await server.json('DELETE', `/v1/templates/${encodeURIComponent(image)}`, { status: 204 })
    expect(namesOf(await list())).not.toContain(image)
  })

  it('say what their build does', async () => {
    const headers = { accept: 'text/event-stream' }
    const events = await allEvents<TemplateBuildEvent>(
      await server.call('POST', '/v1/templates', { json: { name: image }, headers }),
    )
    expect(events.at(-1)).toMatchObject({ type: 'built', template: { name: image } })
    expect(events.slice(0, -1).map(({ type }) => type)).toContain('progress')
    const missing = await allEvents(
      await server.call('POST', '/v1/templates', { json: { name: 'nothing-there' }, headers }),
    )
    expect(missing).toMatchObject([{ type: 'error', error: { code: 'template_not_found' } }])
  })

  it('stay while a sandbox runs on them', async () => {
    await server.json('POST', '/v1/templates', { json: { name: image } })
    const { id } = await server.sandbox({ template: image })
    const path = `/v1/templates/${encodeURIComponent(image)}`
    expect(await server.refusal('DELETE', path)).toMatchObject({ status: 409, code: 'template_in_use' })
    await server.json('DELETE', `/v1/sandboxes/${id}`, { status: 204 })
    await server.json('DELETE', path, { status: 204 })
    expect(await server.refusal('DELETE', path)).toMatchObject({ status: 404, code: 'template_not_found' })
    expect(await server.refusal('DELETE', '/v1/templates/host')).toMatchObject({ code: 'template_unsupported' })
  })

  it('are shown to another tenant as far as its own sandboxes use them, and not changed by it', async () => {
    await server.json('POST', '/v1/templates', { json: { name: image } })
    const key = await server.newKey(['admin'], 'stranger')
    expect(namesOf(await list('', key))).toEqual(['code-interpreter', 'debian', 'host'])
    const json = { name: image }
    expect(await server.refusal('POST', '/v1/templates', { key, json })).toMatchObject({ status: 403 })
    const path = `/v1/templates/${encodeURIComponent(image)}`
    expect(await server.refusal('DELETE', path, { key })).toMatchObject({ status: 403 })
    const { id } = await server.sandbox({ template: image }, key)
    expect(namesOf(await list('', key))).toContain(image)
    await server.json('DELETE', `/v1/sandboxes/${id}`, { status: 204, key })
    expect(namesOf(await list('', key))).not.toContain(image)
  })

  it.each([{}, { name: '' }, { name: 'x'.repeat(513) }, { name: 'debian', force: 'yes' }, { name: 'debian', more: 1 }])(
    'refuses to build %j',
    async (json) => {
      expect((await server.call('POST', '/v1/templates', { json })).status).toBe(400)
    },
  )
})
