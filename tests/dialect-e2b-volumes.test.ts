import { Sandbox, Volume } from 'e2b'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { json } from './support/e2b-raw.ts'
import { E2bServer, type Reply } from './support/e2b-server.ts'

const server = await E2bServer.start({ uploadBytes: 4 * 1024 * 1024, bodyIdleMs: 1000 })
const RUNGS = ['process', 'gvisor']
process.env['E2B_VOLUME_API_URL'] = server.url
afterAll(async () => {
  delete process.env['E2B_VOLUME_API_URL']
  await server[Symbol.asyncDispose]()
})

const left = async (): Promise<number> => (await server.native.page()).items.length

describe('volumes', () => {
  test('are made, found, listed and removed', async () => {
    const made = await Volume.create('listed')
    expect((await Volume.list()).map(({ name }) => name)).toContain('listed')
    expect((await Volume.connect(made.volumeId)).name).toBe('listed')
    expect((await Volume.getInfo(made.volumeId)).token).toBe(made.token)
    expect((await server.native.volumes.get('listed')).id).toBe(made.volumeId)
    await expect(Volume.create('listed')).rejects.toThrow(/409|listed/)
    await expect(Volume.create('Not A Name')).rejects.toThrow(/400/)
    expect(await Volume.destroy(made.volumeId)).toBe(true)
    expect(await Volume.destroy(made.volumeId)).toBe(false)
    await expect(Volume.connect(made.volumeId)).rejects.toThrow(/not found|404/i)
  })

  test('have files that are read and written without a sandbox', async () => {
    const volume = await Volume.create('files')
    expect(await volume.makeDir('/a/b', { force: true, mode: 0o750 })).toMatchObject({
      path: '/a/b',
      type: 'directory',
    })
    const written = await volume.writeFile('/a/b/text', 'content ä', { mode: 0o640, uid: 1000, gid: 1000 })
    expect(written).toMatchObject({ path: '/a/b/text', type: 'file', size: 10, mode: 0o640, uid: 1000, gid: 1000 })
    expect(await volume.readFile('/a/b/text')).toBe('content ä')
    const bytes = Buffer.alloc(300_000, 7)
    await volume.writeFile('/bytes', new Uint8Array(bytes).buffer)
    expect(Buffer.from(await volume.readFile('/bytes', { format: 'bytes' })).equals(bytes)).toBe(true)
    expect((await volume.list('/')).map(({ path }) => path)).toEqual(['/a', '/bytes'])
    expect((await volume.list('/', { depth: 3 })).map(({ path }) => path)).toContain('/a/b/text')
    expect(await volume.updateMetadata('/bytes', { mode: 0o600 })).toMatchObject({ mode: 0o600 })
    expect([await volume.exists('/bytes'), await volume.exists('/none')]).toEqual([true, false])
    await volume.remove('/bytes')
    await expect(volume.readFile('/bytes')).rejects.toThrow(/not found/)
    await expect(volume.list('/none')).rejects.toThrow(/not found/)
    await expect(volume.writeFile('/no/such/parent', 'x')).rejects.toThrow(/not found/)
    await expect(volume.readFile('/a')).rejects.toThrow(/400|director/)
    // Whatever is written, it is below the volume.
    await expect(volume.readFile('/../../etc/passwd')).rejects.toThrow(/not found/)
    expect(await Volume.destroy(volume.volumeId)).toBe(true)
    expect(await left()).toBe(0)
  })
})

describe.each(RUNGS)('a volume in a sandbox on %s', (rung) => {
  let volume: Volume
  beforeAll(async () => {
    volume = await Volume.create(`shared-${rung}`)
  })

  test('outlives it, and is the same for everybody', async () => {
    await volume.writeFile('/before', 'from outside')
    const options = { metadata: { 'hearth.rung': rung }, volumeMounts: { '/data': volume } }
    const sandbox = await Sandbox.create('host', options)
    expect((await sandbox.getInfo()).volumeMounts).toEqual([{ name: volume.name, path: '/data' }])
    const [listed] = await Sandbox.list().nextItems()
    expect(listed?.volumeMounts).toEqual([{ name: volume.name, path: '/data' }])
    expect((await sandbox.commands.run('cat /data/before')).stdout).toBe('from outside')
    await sandbox.commands.run('echo inside > /data/after', { user: 'root' })
    // While a sandbox has it, its files are reached there.
    expect(await volume.readFile('/after')).toBe('inside\n')
    await volume.writeFile('/meanwhile', 'x')
    expect(await sandbox.files.read('/data/meanwhile')).toBe('x')
    await expect(Sandbox.create('host', options)).rejects.toThrow(/409/)
    await expect(Volume.destroy(volume.volumeId)).rejects.toThrow(/409/)
    await sandbox.kill()
    const second = await Sandbox.create('host', { ...options, volumeMounts: { '/other': volume.name } })
    expect(await second.files.read('/other/after')).toBe('inside\n')
    await second.kill()
    expect(await Volume.destroy(volume.volumeId)).toBe(true)
  })
})

describe('strangers', () => {
  test('reach no volume and nothing in it', async () => {
    const volume = await Volume.create('private')
    await volume.writeFile('/secret', 'secret')
    const apiKey = await server.foreignKey()
    expect(await Volume.list({ apiKey })).toEqual([])
    await expect(Volume.connect(volume.volumeId, { apiKey })).rejects.toThrow(/not found|404/i)
    expect(await Volume.destroy(volume.volumeId, { apiKey })).toBe(false)
    await expect(Sandbox.create('host', { apiKey, volumeMounts: { '/d': 'private' } })).rejects.toThrow(/404/)
    const own = await Volume.create('own', { apiKey })
    const at = (method: string, rest: string, token: string, body: string[] = []): Promise<Reply> =>
      server.raw({
        method,
        path: `/volumecontent/${volume.volumeId}/${rest}`,
        headers: { authorization: `Bearer ${token}` },
        body,
      })
    const places = [
      'GET dir?path=/',
      'POST dir?path=/x',
      'GET path?path=/secret',
      'PATCH path?path=/secret',
      'DELETE path?path=/secret',
      'GET file?path=/secret',
      'PUT file?path=/secret',
    ] as const
    const tokens = [
      own.token ?? '',
      server.key,
      apiKey,
      '',
      'x.y.z',
      (volume.token ?? '').replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
    ]
    for (const place of places) {
      const [method = '', rest = ''] = place.split(' ')
      for (const token of tokens) {
        const reply = await at(method, rest, token)
        expect(reply.status, `${place} ${token.slice(0, 12)}: ${reply.body.toString()}`).toBe(401)
        expect(json(reply)).toMatchObject({ code: '401' })
      }
    }
    const token = volume.token ?? ''
    expect((await at('PUT', 'file?path=/large', token, ['x'.repeat(5 * 1024 * 1024)])).status).toBe(413)
    for (const wrong of ['dir?path=/&depth=-1', 'dir?path=/&depth=999', 'nothing?path=/']) {
      expect((await at('GET', wrong, token)).status, wrong).toBeGreaterThanOrEqual(400)
    }
    expect((await at('PUT', 'file?path=/f&uid=70000', token, ['x'])).status).toBe(400)
    expect((await at('DELETE', 'path?path=/', token)).status).toBe(400)
    expect(await volume.readFile('/secret')).toBe('secret')
    // The token ends with the key that it was given to.
    const { key, id } = await server.makeKey(['sandbox:read', 'files'])
    const limited = (await Volume.connect(volume.volumeId, { apiKey: key })).token ?? ''
    expect((await at('GET', 'path?path=/secret', limited)).status).toBe(200)
    await server.revokeKey(id)
    expect((await at('GET', 'path?path=/secret', limited)).status).toBe(401)
    expect(await Volume.destroy(volume.volumeId)).toBe(true)
    expect(await left()).toBe(0)
  })
})
