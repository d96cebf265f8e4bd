import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HearthCommand } from './hearth-command.ts'
import { ServerCommand } from './server-command.ts'

let command: ServerCommand
let hearth: HearthCommand
let id: string
beforeAll(async () => {
  command = await ServerCommand.start()
  hearth = command.hearth
  id = await command.create('--meta', 'job=one', '--ttl', '10m', '--memory', '256M', '--idle', '1h')
})
afterAll(async () => await command[Symbol.asyncDispose]())

const shape = {
  id: expect.stringMatching(/^sb_/),
  state: 'running',
  rung: 'process',
  template: 'host',
  createdAt: expect.any(String),
  expiresAt: expect.any(String),
  parent: null,
  metadata: {},
}

describe('create, get and ls', () => {
  it('one sandbox is an object, several are an array, -q gives ids', async () => {
    const made = await hearth.json<{ id: string }>(['create', '--json', '--rung', 'process'])
    expect(made).toMatchObject(shape)
    const listed = await hearth.json<{ id: string }[]>(['ls', '--json'])
    expect(listed.map((item) => item.id)).toEqual([made.id, id])
    expect((await hearth.run(['ls', '-q'])).stdout).toBe(`${made.id}\n${id}\n`)
    expect(await hearth.run(['rm', made.id])).toMatchObject({ code: 0, stdout: `${made.id}\n`, stderr: '' })
  })

  it('tells people the same in tables', async () => {
    const { stdout } = await hearth.run(['ls'])
    expect(stdout).toMatch(/^ID +STATE +RUNG +TEMPLATE +AGE +ENDS +METADATA\n/)
    expect(stdout).toMatch(new RegExp(`^${id} +running +process +host +\\d+s +in \\d+m +job=one$`, 'm'))
    expect((await hearth.run(['get', id])).stdout).toMatch(/^id +sb_.*\nstate +running\n.*^memory +256\.0 MiB$/ms)
  })

  it('passes what was asked for on', async () => {
    const view = await hearth.json<{ limits: { memoryBytes: number } }>(['get', '--json', id])
    expect(view).toMatchObject({ ...shape, metadata: { job: 'one' }, idleMs: 3_600_000, idleAction: 'pause' })
    expect(view.limits.memoryBytes).toBe(256 * 1024 ** 2)
  })

  it('filters', async () => {
    expect(
      (await hearth.run(['ls', '-q', '--meta', 'job=one', '--rung', 'process', '--state', 'running'])).stdout,
    ).toBe(`${id}\n`)
    expect(await hearth.json(['ls', '--json', '--meta', 'job=two'])).toEqual([])
    expect((await hearth.run(['ls', '--state', 'asleep'])).code).toBe(1)
  })

  it('takes a part of an id, when only one fits', async () => {
    expect((await hearth.run(['get', '-q', id.slice(-6)])).stdout).toBe(`${id}\n`)
    expect((await hearth.run(['get', '-q', id.slice(0, 16)])).stdout).toBe(`${id}\n`)
    const other = await command.create()
    const unclear = await hearth.run(['get', '--json', id.slice(0, 7)])
    expect(unclear.code).toBe(1)
    expect(JSON.parse(unclear.stderr)).toMatchObject({ error: { code: 'invalid_request', message: /fits 2/ } })
    expect((await hearth.run(['get', 'sb_'])).stderr).toMatch(/at least 4 characters/)
    expect((await hearth.run(['get', 'zzzzzz'])).stderr).toMatch(/there is no sandbox zzzzzz\n.*hearth ls/)
    await hearth.run(['rm', other])
  })
})

describe('the life of a sandbox', () => {
  it('pause, resume, renew and stats', async () => {
    expect(await hearth.json(['pause', '--json', id])).toMatchObject({ id, state: 'paused' })
    expect(await hearth.json(['stats', '--json'])).toEqual([])
    expect((await hearth.run(['resume', id])).stdout).toBe(`${id}\n`)
    const { expiresAt } = await hearth.json<{ expiresAt: string }>(['renew', '--json', id, '--ttl', '3h'])
    expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(2.9 * 3_600_000)
    const mistaken = await hearth.run(['renew', id, '10m'])
    expect(mistaken).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('--ttl 10m') })
    expect(await hearth.json(['stats', '--json', id])).toMatchObject({ id, memoryLimitBytes: 256 * 1024 ** 2 })
    expect((await hearth.run(['stats'])).stdout).toMatch(/^ID +MEMORY +CPU TIME +PROCESSES +DISK +UP\nsb_/)
  })

  it('stop ends it, and it says so for a while', async () => {
    const other = await command.create()
    expect((await hearth.run(['stop', other])).stdout).toBe(`${other}\n`)
    expect(await hearth.json(['get', '--json', other])).toMatchObject({ id: other, state: 'stopped' })
    expect((await hearth.run(['stats', '-q'])).stdout).not.toContain(other)
  })

  it('hibernate and wake', async () => {
    const other = await command.create('--idle', '1h', '--idle-action', 'hibernate')
    expect(await hearth.json(['hibernate', '--json', other])).toMatchObject({
      id: other,
      state: 'hibernated',
      idleAction: 'hibernate',
      hibernation: { memory: false },
    })
    const again = await hearth.run(['hibernate', other])
    expect(again.stdout).toMatch(new RegExp(`^ID +STATE +PROCESSES\\n${other} +hibernated +ended: the rung process `))
    expect((await hearth.run(['ls'])).stdout).toMatch(new RegExp(`^${other} +hibernated +process`, 'm'))
    expect((await hearth.run(['get', other])).stdout).toMatch(/^state +hibernated\nprocesses +ended: the rung process/m)
    expect((await hearth.run(['exec', other, '--', 'echo', 'awake'])).stdout).toBe('awake\n')
    expect((await hearth.run(['hibernate', '-q', other])).stdout).toBe(`${other}\n`)
    expect((await hearth.run(['wake', '--json', other, '--memory', 'required'])).code).toBe(1)
    expect(await hearth.json(['wake', '--json', other])).toMatchObject({
      id: other,
      state: 'running',
      hibernation: null,
    })
    await hearth.run(['rm', other])
  })

  it('does the others when one of several fails', async () => {
    const other = await command.create()
    const result = await hearth.run(['rm', '--json', 'zzzzzzzz', other])
    expect(result.code).toBe(1)
    expect(JSON.parse(result.stdout)).toEqual([{ id: other, state: 'deleted' }])
    expect(JSON.parse(result.stderr)).toMatchObject({ error: { code: 'sandbox_not_found' } })
    expect((await hearth.run(['rm', other])).code).toBe(1)
  })
})

describe('a server that does not answer, or not to us', () => {
  it('none: says how to start one', async () => {
    const probe = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => probe.once('listening', resolve))
    const { port } = probe.address() as { port: number }
    await new Promise((resolve) => probe.close(resolve))
    const result = await hearth.run(['ls', '--port', String(port)])
    expect(result).toMatchObject({ code: 1, stdout: '' })
    expect(result.stderr).toMatch(/no server answers at http:\/\/127\.0\.0\.1:\d+ .*\n.*up` .*npm start/)
    const failed = await hearth.run(['exec', id, '--port', String(port), '--json', '--', 'true'])
    expect(failed.code).toBe(125)
    expect(JSON.parse(failed.stderr)).toMatchObject({ error: { code: 'link_lost', retryable: true } })
  })

  it('a wrong key: says where the right one is', async () => {
    await using stranger = await HearthCommand.create()
    stranger.env['HEARTH_URL'] = command.server.url
    expect((await stranger.run(['ls'])).stderr).toContain(`${stranger.home}/key is not there`)
    stranger.env['HEARTH_API_KEY'] = 'hearth_wrong'
    expect((await stranger.run(['ls'])).stderr).toContain('HEARTH_API_KEY is not a key of')
  })
})
