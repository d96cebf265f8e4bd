import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { BadRequestError, Client } from '@pandastack/sdk'
import { Sandbox, Template } from 'e2b'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { E2bServer } from './support/e2b-server.ts'

const RUNGS = (process.env['HEARTH_RUNGS']?.split(',') ?? ['process', 'gvisor']).filter((rung) => rung !== 'simulated')

const web = createServer((_, response) => void response.end('kindled')).listen(0, '127.0.0.1')
await once(web, 'listening')
const { port } = web.address() as AddressInfo
const server = await E2bServer.with({
  policy: { allow: [{ name: 'web.example', ports: [port], addresses: ['127.0.0.0/8'] }] },
})
const panda = new Client({ apiUrl: server.dialect('pandastack'), apiKey: server.key })
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  web.close()
})

const FETCH = `curl -sS --max-time 10 http://web.example:${port}/`
const native = async (id: string) => await server.native.get(id.replace(/^sb(?!_)/, 'sb_'))

describe.each(RUNGS)('what the operator allows to all, on %s', (rung) => {
  const metadata = { 'hearth.rung': rung }
  let there = true
  beforeAll(async () => {
    there = await server.has(rung)
    if (!there) return
    const made = await server.native.create({ rung: rung as 'process', template: 'host' })
    await made.snapshot({ name: `begin-${rung}`, memory: 'none' })
    await made.kill()
  })

  test("is reached by E2B's sandboxes that name nothing, and by no others", async (context) => {
    context.skip(!there, `no ${rung} here`)
    const sandbox = await Sandbox.create('host', { metadata })
    expect((await sandbox.commands.run(FETCH)).stdout).toBe('kindled')
    await sandbox.updateNetwork({ allowOut: ['other.example'], denyOut: ['0.0.0.0/0'] })
    await expect(sandbox.commands.run(FETCH)).rejects.toThrow(/exit status/)
    await sandbox.updateNetwork({})
    expect((await sandbox.commands.run(FETCH)).stdout).toBe('kindled')
    const { snapshotId } = await sandbox.createSnapshot()
    const copy = await Sandbox.create(snapshotId)
    expect((await copy.commands.run(FETCH)).stdout).toBe('kindled')
    const closed = await Sandbox.create('host', { metadata, allowInternetAccess: false })
    await expect(closed.commands.run(FETCH)).rejects.toThrow(/exit status/)
    const other = await Sandbox.create('host', { metadata: { ...metadata, 'hearth.allow': 'none' } })
    await expect(other.commands.run(FETCH)).rejects.toThrow(/exit status/)
    for (const each of [sandbox, copy, closed, other]) await each.kill()
  })

  test("is reached by PandaStack's, and by commands of builds", { timeout: 120_000 }, async (context) => {
    context.skip(!there, `no ${rung} here`)
    const sandbox = await panda.sandboxes.create({ template: 'host', metadata })
    expect((await sandbox.exec(FETCH)).stdout).toBe('kindled')
    await sandbox.kill()
    const dockerfile = `FROM begin-${rung}\nRUN ${FETCH} > /fetched\n`
    const build = await panda.templates.buildFromDockerfile({ name: `panda-${rung}`, dockerfile })
    await panda.templates.waitForBuild(build.id, { intervalMs: 200 })
    // What was built is a template, and no snapshot.
    const snapshots = (await panda.snapshots.list()).map(({ id }: { id: string }) => id)
    const { origin } = (await native((await panda.sandboxes.create({ template: `panda-${rung}` })).id)).details
    expect(snapshots).not.toContain(origin)
    const made = await panda.sandboxes.create({ template: `panda-${rung}`, metadata: { 'hearth.allow': 'none' } })
    expect((await made.exec('cat /fetched')).stdout).toBe('kindled')
    expect((await made.exec(FETCH)).exit_code).not.toBe(0)
    await made.kill()
    await Template.build(Template().fromTemplate(`begin-${rung}`).runCmd(`${FETCH} > fetched`), `e2b-${rung}`)
    const built = await Sandbox.create(`e2b-${rung}`)
    expect(await built.files.read('fetched')).toBe('kindled')
    await built.kill()
  })
})

describe('what a create names', () => {
  test('is a policy', async () => {
    const named = async (allow: string) => {
      const metadata = { 'hearth.rung': 'process', 'hearth.allow': allow }
      const one = await Sandbox.create('host', { metadata })
      const other = await panda.sandboxes.create({ template: 'host', metadata })
      const policies = await Promise.all(
        [one.sandboxId, other.id].map(async (id) => (await (await native(id)).policy()).policy),
      )
      await Promise.all([one.kill(), other.kill()])
      expect(policies[1]).toEqual(policies[0])
      return policies[0]
    }
    expect(await named('pypi, api.example.com:8443')).toEqual({ presets: ['pypi'], allow: ['api.example.com:8443'] })
    expect(await named('public')).toEqual({ mode: 'audit' })
    expect(await named('none')).toEqual({})
  })

  test.each(['pypl', '10.0.0.1', 'public,npm', ' ', 'a b..c'])('is refused where it is nonsense: %s', async (allow) => {
    const metadata = { 'hearth.rung': 'process', 'hearth.allow': allow }
    await expect(Sandbox.create('host', { metadata })).rejects.toThrow(/^400/)
    await expect(panda.sandboxes.create({ template: 'host', metadata })).rejects.toBeInstanceOf(BadRequestError)
  })

  test('is said once', async () => {
    const metadata = { 'hearth.rung': 'process', 'hearth.allow': 'npm' }
    await expect(Sandbox.create('host', { metadata, allowInternetAccess: true })).rejects.toThrow(/something else/)
  })

  test('comes from the environment for programs that import `pandastack`', async () => {
    const program = 'from pandastack import Sandbox\nprint(Sandbox.create(template="host", rung="process").id, end="")'
    const env = {
      PATH: process.env['PATH'] ?? '',
      PYTHONDONTWRITEBYTECODE: '1',
      PYTHONPATH: ['sdk/python', 'sdk/python/shims'].map((path) => join(import.meta.dirname, '..', path)).join(':'),
      HEARTH_URL: server.nativeUrl,
      PANDASTACK_TOKEN: server.key,
    }
    const made = async (allow: string) => {
      const { stdout } = await promisify(execFile)('python3', ['-c', program], { env: { ...env, HEARTH_ALLOW: allow } })
      const sandbox = await native(stdout)
      const { policy } = await sandbox.policy()
      await sandbox.kill()
      return policy
    }
    expect(await made('pypi,web.example:8080')).toEqual({ presets: ['pypi'], allow: ['web.example:8080'] })
    expect(await made('public')).toEqual({ mode: 'audit' })
    expect(await made('')).toEqual({})
  })
})
