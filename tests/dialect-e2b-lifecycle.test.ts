import { Sandbox, SandboxError, Template } from 'e2b'
import { afterAll, describe, expect, test } from 'vitest'
import { E2bRaw, json } from './support/e2b-raw.ts'
import { E2bServer } from './support/e2b-server.ts'

const raw = await E2bRaw.start()
const { server, sandbox } = raw
afterAll(() => raw[Symbol.asyncDispose]())
const metadata = { 'hearth.rung': 'process' }

describe('the life of sandboxes', () => {
  test('lists in pages, by state, template and metadata', async () => {
    const made = []
    for (const name of ['a', 'b', 'c'])
      made.push(await Sandbox.create('host', { metadata: { ...metadata, list: 'x y/&=ä', name } }))
    const pages = Sandbox.list({ query: { metadata: { list: 'x y/&=ä' } }, limit: 2 })
    const [first, second] = [await pages.nextItems(), await pages.nextItems()]
    expect([...first, ...second].map((each) => each.metadata['name'])).toEqual(['c', 'b', 'a'])
    expect([first.length, pages.hasNext]).toEqual([2, false])
    await made[0]?.pause()
    const states = async (state: 'running' | 'paused') =>
      (await Sandbox.list({ query: { state: [state], metadata: { list: 'x y/&=ä' } } }).nextItems()).length
    expect([await states('paused'), await states('running')]).toEqual([1, 2])
    const ascending = await raw.control({ path: '/v2/sandboxes?order=asc&limit=1&template=host' })
    expect([(json(ascending) as unknown[]).length, ascending.headers['x-next-token']]).toEqual([1, '1'])
    expect(json(await raw.control({ path: '/v2/sandboxes?template=other' }))).toEqual([])
    for (const wrong of [
      'limit=0',
      'limit=x',
      'order=up',
      'state=dead',
      'nextToken=x',
      'startedAfter=x',
      'metadata=%25',
    ]) {
      expect((await raw.control({ path: `/v2/sandboxes?${wrong}` })).status, wrong).toBe(400)
    }
    for (const each of made) expect(await each.kill()).toBe(true)
  })

  test('is told as a log', async () => {
    const before = Date.now()
    await sandbox.commands.run('echo in-the-log')
    const entries = async (query: string): Promise<{ timestamp: string; message: string }[]> => {
      const answer = await raw.control({ path: `/v2/sandboxes/${sandbox.sandboxId}/logs?${query}` })
      return (json(answer) as { logs: { timestamp: string; message: string }[] }).logs
    }
    await expect.poll(async () => (await entries('search=in-the-log')).length, { timeout: 10_000 }).toBeGreaterThan(0)
    const all = await entries('')
    expect(all[0]?.message).toMatch(/^sandbox\.created /)
    expect(await entries('limit=1')).toEqual(all.slice(0, 1))
    expect((await entries('direction=backward&limit=1'))[0]?.timestamp).toBe(all.at(-1)?.timestamp)
    expect((await entries(`cursor=${before}`)).every(({ timestamp }) => Date.parse(timestamp) >= before)).toBe(true)
    expect(await entries('level=error')).toEqual([])
    const older = json(await raw.control({ path: `/sandboxes/${sandbox.sandboxId}/logs?limit=2` }))
    expect(older).toMatchObject({ logs: [{ line: all[0]?.message }, {}], logEntries: [{ level: 'info' }, {}] })
  })

  test('is measured with others', async () => {
    const other = await Sandbox.create('host', { metadata })
    const of = async (ids: string): Promise<unknown> =>
      json(await raw.control({ path: `/sandboxes/metrics?sandbox_ids=${ids}` }))
    const both = (await of(`${sandbox.sandboxId},${other.sandboxId},sb00000000000000000000`)) as { sandboxes: object }
    expect(Object.keys(both.sandboxes).toSorted()).toEqual([sandbox.sandboxId, other.sandboxId].toSorted())
    expect(both.sandboxes).toMatchObject({ [other.sandboxId]: { cpuCount: 1, memUsed: expect.any(Number) as number } })
    await other.pause()
    expect(await of(other.sandboxId)).toEqual({ sandboxes: {} })
    expect(await of('')).toMatchObject({ code: 400 })
    await other.kill()
  })

  test('moves its end', async () => {
    const end = async (): Promise<number> => (await sandbox.getInfo()).endAt.getTime() - Date.now()
    await sandbox.setTimeout(100_000)
    expect(await end()).toBeLessThan(101_000)
    await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 50_000 })
    expect(await end()).toBeGreaterThan(80_000)
    await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 500_000 })
    expect(await end()).toBeGreaterThan(400_000)
    await expect(sandbox.setTimeout(31 * 24 * 3_600_000)).rejects.toThrow(/hours/)
  })

  test('is paused when its time is over, and woken by a request where it was made so', async () => {
    const lifecycle = { onTimeout: 'pause', autoResume: true } as const
    const made = await Sandbox.create('host', { metadata, timeoutMs: 1000, lifecycle })
    expect((await made.getInfo()).lifecycle).toEqual(lifecycle)
    await expect.poll(async () => (await made.getInfo()).state, { timeout: 10_000 }).toBe('paused')
    expect(await made.isRunning()).toBe(false)
    expect((await made.commands.run('echo awake')).stdout).toBe('awake\n')
    expect((await made.getInfo()).state).toBe('running')
    expect(await made.kill()).toBe(true)
  })

  test('keeps what it is at its end in forks, and through other APIs', async () => {
    const lifecycle = { onTimeout: 'pause' } as const
    const made = await Sandbox.create('host', { metadata, timeoutMs: 600_000, lifecycle })
    const seconds = async (id: string): Promise<number> =>
      Math.round(((await Sandbox.getInfo(id)).endAt.getTime() - Date.now()) / 1000)
    const state = async (id: string): Promise<string> => (await Sandbox.getInfo(id)).state
    const [child, brief] = [
      ...(await Sandbox.fork(made.sandboxId, { timeoutMs: 60_000 })),
      ...(await Sandbox.fork(made.sandboxId, { timeoutMs: 1000 })),
    ] as Sandbox[]
    expect(await seconds(child?.sandboxId ?? '')).toBeGreaterThan(50)
    expect(await seconds(child?.sandboxId ?? '')).toBeLessThanOrEqual(60)
    await expect.poll(async () => await state(brief?.sandboxId ?? ''), { timeout: 10_000 }).toBe('paused')
    // A fork that the native API makes has the end that is given there, or that of its parent.
    const native = await server.native.get(made.sandboxId.replace(/^sb/, 'sb_'))
    const { children } = await native.fork(1, { ttlMs: 60_000 })
    const own = (children[0]?.id ?? '').replace('_', '')
    expect(await seconds(own)).toBeGreaterThan(50)
    expect(await seconds(own)).toBeLessThanOrEqual(60)
    await made.setTimeout(3000)
    const heir = ((await native.fork(1)).children[0]?.id ?? '').replace('_', '')
    await expect.poll(async () => await state(heir), { timeout: 10_000 }).toBe('paused')
    // Whoever wakes it: its time goes on, and it is paused when that is over.
    await expect.poll(async () => await state(made.sandboxId), { timeout: 10_000 }).toBe('paused')
    await native.exec(['true'])
    await expect.poll(async () => await seconds(made.sandboxId), { timeout: 10_000 }).toBeLessThanOrEqual(600)
    await native.renew(60_000)
    expect(await seconds(made.sandboxId)).toBeLessThanOrEqual(60)
    for (const id of [made.sandboxId, own, heir, child?.sandboxId ?? '', brief?.sandboxId ?? '']) await Sandbox.kill(id)
  })

  test('keeps the disk alone where that is asked for', async () => {
    const made = await Sandbox.create('host', { metadata, timeoutMs: 60_000 })
    await made.files.write('kept', 'x')
    expect(await made.pause({ keepMemory: false })).toBe(true)
    const again = await Sandbox.connect(made.sandboxId)
    expect(await again.files.read('kept')).toBe('x')
    await again.pause()
    const rebooted = await Sandbox.connect(made.sandboxId, { onResume: 'reboot' })
    expect([await rebooted.files.read('kept'), (await rebooted.commands.list()).length]).toEqual(['x', 0])
    await rebooted.kill()
  })

  test('speaks to older clients', async () => {
    const hexKey = `e2b_${Buffer.from(server.key).toString('hex')}`
    const body = [JSON.stringify({ templateID: 'host', metadata, secure: true })]
    const made = await raw.control({ method: 'POST', path: '/sandboxes', body, key: hexKey })
    expect(made.status).toBe(201)
    const { sandboxID } = json(made) as { sandboxID: string }
    const of = `/sandboxes/${sandboxID}`
    expect((await raw.control({ method: 'POST', path: `${of}/refreshes`, body: ['{"duration":60}'] })).status).toBe(204)
    expect((await raw.control({ method: 'POST', path: `${of}/connect`, body: ['{"timeout":60}'] })).status).toBe(200)
    expect((await raw.control({ method: 'POST', path: `${of}/pause` })).status).toBe(204)
    expect((await raw.control({ method: 'POST', path: `${of}/pause` })).status).toBe(409)
    expect((await raw.control({ method: 'POST', path: `${of}/resume`, body: ['{"timeout":60}'] })).status).toBe(201)
    expect((json(await raw.control({ path: '/sandboxes' })) as unknown[]).length).toBeGreaterThan(1)
    expect((await raw.control({ method: 'DELETE', path: of })).status).toBe(204)
    expect(json(await raw.control({ method: 'DELETE', path: of }))).toMatchObject({ code: 404 })
    const events = json(await raw.control({ path: `/events/sandboxes/${sandboxID}?orderAsc=true` })) as {
      type: string
    }[]
    expect(events.map(({ type }) => type.replace('sandbox.lifecycle.', ''))).toEqual(
      expect.arrayContaining(['created', 'paused', 'resumed', 'killed']),
    )
    expect((await server.raw({ path: '/health' })).status).toBe(204)
  })

  test('of a snapshot or a built template has the rung that was asked for, or is refused', async () => {
    const { snapshotId } = await sandbox.createSnapshot({ name: 'my_rungs' })
    for (const wrong of [{ 'hearth.rung': 'microvm' }, { 'hearth.atLeast': 'gvisor' }]) {
      await expect(Sandbox.create('my_rungs', { metadata: wrong }), JSON.stringify(wrong)).rejects.toThrow(
        /rung process/,
      )
    }
    await expect(Sandbox.create(snapshotId, { metadata: { 'hearth.rung': 'weak' } })).rejects.toThrow(
      /400.*hearth.rung/,
    )
    const made = await Sandbox.create(snapshotId, { metadata: { 'hearth.atLeast': 'process' } })
    expect((await server.native.get(made.sandboxId.replace(/^sb/, 'sb_'))).info.rung).toBe('process')
    await made.kill()
    expect(await Sandbox.deleteSnapshot('my_rungs')).toBe(true)
    await expect(sandbox.createSnapshot({ name: 'sn_x' })).rejects.toThrow(/not begin with sn_/)
    await Template.build(Template().fromTemplate('host').runCmd('true'), 'rungs_built')
    const built = await Sandbox.create('rungs_built')
    const { rung } = (await server.native.get(built.sandboxId.replace(/^sb/, 'sb_'))).info
    const other = rung === 'process' ? 'container' : 'process'
    await expect(Sandbox.create('rungs_built', { metadata: { 'hearth.rung': other } })).rejects.toThrow(/rung/)
    await built.kill()
  })

  test('says what it cannot do', async () => {
    const create = (body: object) =>
      raw.control({ method: 'POST', path: '/v2/sandboxes', body: [JSON.stringify({ templateID: 'host', ...body })] })
    const refusals: readonly (readonly [object, number, RegExp])[] = [
      [{ volumeMounts: [{ name: 'v', path: '/v' }] }, 404, /volume/],
      [{ volumeMounts: [{ name: 'v', path: 'v/../x' }] }, 400, /path/],
      [{ mcp: {} }, 501, /mcp/],
      [{ iam: { tokens: {} } }, 501, /iam/],
      [{ network: { rules: { 'a.test': [] } } }, 501, /network.rules/],
      [{ network: { egressProxy: { address: 'a:1' } } }, 501, /egressProxy/],
      [{ network: { allowOut: ['10.0.0.1'] } }, 501, /addresses/],
      [{ network: { allowOut: ['a.test'] } }, 400, /0\.0\.0\.0/],
      [{ metadata: { 'hearth.e2b': '{}' } }, 400, /not for clients/],
      [{ metadata: { 'hearth.rung': 'weak' } }, 400, /hearth.rung/],
      [{ timeout: 1e9 }, 400, /hours/],
      [{ autoResume: { enabled: true } }, 400, /autoPause/],
      [{ templateID: 'sn_00000000000000000000' }, 404, /not found/],
      [{ templateID: '' }, 400, /templateID/],
      [{ envVars: { 'a b': 'c' } }, 400, /envVars/],
    ]
    for (const [body, status, message] of refusals) {
      expect(json(await create(body)), JSON.stringify(body)).toEqual({
        code: status,
        message: expect.stringMatching(message),
      })
    }
    for (const path of ['/secrets', '/teams', '/nodes']) {
      expect(json(await raw.control({ path })), path).toMatchObject({ code: 501 })
    }
    expect((await raw.control({ path: '/nothing' })).status).toBe(404)
    await expect(sandbox.updateNetwork({ allowOut: ['10.0.0.1'] })).rejects.toBeInstanceOf(SandboxError)
  })

  test('reaches the names that it is allowed, and nothing else', async () => {
    const network = { allowOut: ['api.hearth.test', '*.names.test'], denyOut: ['0.0.0.0/0'] }
    const made = await Sandbox.create('host', { metadata, network })
    expect((await made.getInfo()).network).toMatchObject(network)
    const native = await server.native.get(made.sandboxId.replace(/^sb/, 'sb_'))
    const allowed = async () => (await native.policy()).effective.allow.map(({ name }) => name)
    expect(await allowed()).toEqual(network.allowOut)
    await made.updateNetwork({ allowOut: ['other.test'], denyOut: ['0.0.0.0/0'] })
    expect(await allowed()).toEqual(['other.test'])
    await made.updateNetwork({ allowInternetAccess: true })
    expect([(await made.getInfo()).allowInternetAccess, (await native.policy()).effective.mode]).toEqual([
      true,
      'audit',
    ])
    await made.updateNetwork({})
    expect(await allowed()).toEqual([])
    await made.kill()
    expect((await sandbox.getInfo()).network).toMatchObject({ allowOut: [], denyOut: ['0.0.0.0/0'] })
  })

  test('outlives the server, with its end, its tokens and its links', async () => {
    const first = await E2bServer.start()
    try {
      const made = await Sandbox.create('host', { metadata, timeoutMs: 2000, lifecycle: { onTimeout: 'pause' } })
      const other = await Sandbox.create('host', { metadata, timeoutMs: 60_000 })
      await other.files.write('kept', 'x')
      const { searchParams } = new URL(await other.downloadUrl('kept'))
      await using second = await first.restarted()
      await expect.poll(async () => (await Sandbox.getInfo(made.sandboxId)).state, { timeout: 10_000 }).toBe('paused')
      const headers = { 'e2b-sandbox-id': other.sandboxId, 'e2b-sandbox-port': '49983' }
      expect((await second.raw({ path: `/files?${searchParams.toString()}`, headers })).body.toString()).toBe('x')
      expect(await (await Sandbox.connect(other.sandboxId)).files.read('kept')).toBe('x')
    } finally {
      server.point()
    }
  })
})
