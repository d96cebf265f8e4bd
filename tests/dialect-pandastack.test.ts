import {
  AuthError,
  BadRequestError,
  Client,
  CommandError,
  NotFoundError,
  SandboxTimeout,
  type Sandbox,
  ServerError,
} from '@pandastack/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiProcess } from './support/api-process.ts'

const server = await ApiProcess.start({ dialects: ['pandastack'] })
afterAll(() => server[Symbol.asyncDispose]())
const client = new Client({ apiUrl: server.dialectUrl('pandastack'), apiKey: server.key })

describe.each(['process', 'gvisor'])("the vendor's package on %s", (rung) => {
  let sandbox: Sandbox
  const metadata = { 'hearth.rung': rung, purpose: 'a b', 'secret.token': 'hidden' }
  beforeAll(async () => {
    sandbox = await client.sandboxes.create({ template: 'host', ttlSeconds: 600, metadata })
  })
  afterAll(async () => await sandbox.kill())

  test('makes, shows and lists', async () => {
    expect(sandbox.info).toMatchObject({ status: 'running', template: 'host', metadata: { purpose: 'a b' } })
    expect(sandbox.info.metadata).not.toHaveProperty('secret.token')
    expect((await client.sandboxes.list()).map(({ id }) => id)).toContain(sandbox.id)
    expect((await server.client().get(sandbox.id)).info.rung).toBe(rung)
  })

  test('runs commands', async () => {
    const result = await sandbox.exec('echo out; echo err >&2; exit 3')
    expect(result).toMatchObject({ stdout: 'out\n', stderr: 'err\n', exit_code: 3 })
    await expect(sandbox.exec('exit 4', { check: true })).rejects.toBeInstanceOf(CommandError)
    await expect(sandbox.exec('sleep 60', { timeoutSeconds: 1 })).rejects.toBeInstanceOf(SandboxTimeout)
    expect((await sandbox.runCode('print(6 * 7)', 'python')).stdout).toBe('42\n')
    expect((await sandbox.exec('mkdir -p /workspace/made && whoami')).stdout).toBe('root\n')
    // As long as the call says, which is longer than a sandbox of the native API would allow.
    expect((await sandbox.exec('echo long', { timeoutSeconds: 900 })).stdout).toBe('long\n')
    await expect(sandbox.exec('')).rejects.toBeInstanceOf(BadRequestError)
  })

  test('streams output', async () => {
    const seen: string[] = []
    const code = await sandbox.execStream('printf one; sleep 0.1; printf two >&2; exit 5', {
      onStdout: (text: string) => seen.push(`out ${text}`),
      onStderr: (text: string) => seen.push(`err ${text}`),
    })
    expect(code).toBe(5)
    expect(seen).toEqual(['out one', 'err two'])
  })

  test('keeps variables in a context', async () => {
    const context = await sandbox.createCodeContext()
    await context.runCode('x = 20')
    const { results, stdout } = await context.runCode('print(x)\nx + 1')
    expect(stdout).toBe('20\n')
    expect(results[0]?.text).toBe('21')
    expect((await context.runCode('1 / 0')).error).toContain('ZeroDivisionError')
    const running = async (): Promise<number> =>
      (await (await server.client().get(sandbox.id)).processes()).filter(({ exit }) => exit === null).length
    const before = await running()
    await context.close()
    expect(await running()).toBe(before - 1)
    const busy = await sandbox.createCodeContext()
    const cell = busy.runCode('import time\ntime.sleep(600)').catch((error: Error) => error)
    await expect.poll(running).toBe(before)
    await busy.close()
    expect(await cell).toBeInstanceOf(Error)
    await expect.poll(running).toBe(before - 1)
  })

  test('works with files', async () => {
    const files = sandbox.filesystem
    await files.write('/workspace/deep/a.txt', 'content')
    expect(await files.read('/workspace/deep/a.txt')).toBe('content')
    expect((await files.list('/workspace/deep')).map(({ name, size, is_dir }) => [name, size, is_dir])).toEqual([
      ['a.txt', 7, false],
    ])
    expect(await files.exists('/workspace/deep/a.txt')).toBe(true)
    expect(await files.exists('/workspace/none')).toBe(false)
    await expect(files.read('/workspace/none')).rejects.toBeInstanceOf(NotFoundError)
  })

  test('forks, explores, and snapshots', async () => {
    await sandbox.exec('echo base > /tmp/value')
    const child = await sandbox.fork()
    await child.exec('echo child > /tmp/value')
    expect((await sandbox.exec('cat /tmp/value')).stdout).toBe('base\n')
    expect((await child.exec('cat /tmp/value')).stdout).toBe('child\n')
    await child.kill()
    const explored = await sandbox.explore(
      [
        { label: 'fails', cmd: 'exit 1' },
        { label: 'works', cmd: 'cat /tmp/value; echo won > /tmp/result' },
      ],
      { scoreFn: (_: Sandbox, outcome: { exitCode: number | null }) => (outcome.exitCode === 0 ? 1 : 0) },
    )
    expect(explored.winnerOutcome).toMatchObject({ label: 'works', exitCode: 0 })
    expect(explored.errors).toEqual([])
    expect(explored.reaped).toHaveLength(1)
    expect((await explored.winner?.exec('cat /tmp/result'))?.stdout).toBe('won\n')
    await explored.winner?.kill()

    const snapshot = (await sandbox.snapshot()) as { id: string }
    const other = { 'hearth.atLeast': 'microvm' }
    await expect(client.sandboxes.create({ fromSnapshot: snapshot.id, metadata: other })).rejects.toThrow(/microvm/)
    const nonsense = { metadata: { 'hearth.rung': 'weak' } }
    await expect(client.sandboxes.create({ fromSnapshot: snapshot.id, ...nonsense })).rejects.toBeInstanceOf(
      BadRequestError,
    )
    await expect(sandbox.fork({ metadata: other })).rejects.toThrow(/microvm/)
    const copy = await client.sandboxes.create({ fromSnapshot: snapshot.id, ttlSeconds: 60, metadata })
    expect((await copy.exec('cat /tmp/value')).stdout).toBe('base\n')
    await copy.kill()
    expect((await client.snapshots.list()).map(({ id }: { id: string }) => id)).toContain(snapshot.id)
    await client.snapshots.delete(snapshot.id)
  })

  test('pauses, hibernates, wakes, and moves its deadline', async () => {
    await sandbox.pause()
    expect((await client.sandboxes.get(sandbox.id)).info.status).toBe('paused')
    await sandbox.resume()
    await sandbox.hibernate()
    expect((await client.sandboxes.get(sandbox.id)).info.status).toBe('hibernated')
    expect((await sandbox.exec('cat /tmp/value')).stdout).toBe('base\n')
    await sandbox.hibernate()
    await sandbox.wake()
    expect(await sandbox.setTtl(1200)).toMatchObject({ persistent: false })
    expect(((await sandbox.lifecycle()) as { ttl_seconds: number }).ttl_seconds).toBeGreaterThan(1100)
  })

  test('shows what listens', async () => {
    await sandbox.exec('python3 -m http.server 8123 > /dev/null 2>&1 &')
    await expect.poll(async () => Object.keys(await sandbox.previewUrls()), { timeout: 20_000 }).toContain('8123')
    const proxied = `${server.dialectUrl('pandastack')}/v1/sandboxes/${sandbox.id}/proxy/8123/`
    const page = await fetch(proxied, { headers: { authorization: `Bearer ${server.key}` } })
    expect(await page.text()).toContain('Directory listing')
  })
})

describe('everything else', () => {
  test('templates, account and tokens', async () => {
    expect((await client.templates.list()).map(({ name }) => name)).toContain('code-interpreter')
    const { token, prefix } = (await client.tokens.create('ci')) as { token: string; prefix: string }
    expect(await new Client({ apiUrl: server.dialectUrl('pandastack'), apiKey: token }).sandboxes.list()).toEqual([])
    await client.tokens.revoke(prefix)
    await expect(
      new Client({ apiUrl: server.dialectUrl('pandastack'), apiKey: token }).sandboxes.list(),
    ).rejects.toBeInstanceOf(AuthError)
  })

  test('what is not there is said by its name', async () => {
    await expect(client.databases.list()).rejects.toThrow(/does not support.*databases/)
    await expect(client.databases.list()).rejects.toBeInstanceOf(ServerError)
    const base = `${server.dialectUrl('pandastack')}/v1/sandboxes/sb_00000000000000000000`
    const headers = { authorization: `Bearer ${server.key}` }
    for (const [method, feature] of [
      ['POST', 'mcp'],
      ['GET', 'events'],
      ['POST', 'repl'],
      ['POST', 'ports'],
    ] as const) {
      const answer = await fetch(`${base}/${feature}`, { method, headers })
      expect([answer.status, await answer.text()]).toEqual([501, expect.stringContaining(feature)])
    }
    await expect(client.sandboxes.get('sb_00000000000000000000')).rejects.toBeInstanceOf(NotFoundError)
    await expect(client.sandboxes.create({ template: 'no-such-template' })).rejects.toThrow(/no-such-template/)
  })

  test('another tenant sees nothing, and garbage gets a plain refusal', async () => {
    const { url, key } = server
    const admin = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const tenant = (await (
      await fetch(`${url}/v1/tenants`, { method: 'POST', headers: admin, body: JSON.stringify({ name: 'other' }) })
    ).json()) as { id: string }
    const made = (await (
      await fetch(`${url}/v1/tenants/${tenant.id}/keys`, {
        method: 'POST',
        headers: admin,
        body: JSON.stringify({ name: 'x' }),
      })
    ).json()) as { key: string }
    await using own = await server.client().create({ rung: 'process' })
    const stranger = new Client({ apiUrl: server.dialectUrl('pandastack'), apiKey: made.key })
    expect(await stranger.sandboxes.list()).toEqual([])
    const base = `${server.dialectUrl('pandastack')}/v1/sandboxes/${own.id}`
    const headers = { authorization: `Bearer ${made.key}` }
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/exec'],
      ['POST', '/fork'],
      ['POST', '/pause'],
      ['GET', '/fs?path=/etc/passwd'],
      ['GET', '/ports'],
      ['GET', '/proxy/80/'],
      ['POST', '/repl/sessions'],
    ] as const) {
      const body = method === 'POST' ? { body: '{"cmd":"true"}' } : {}
      expect((await fetch(base + path, { method, headers, ...body })).status, `${method} ${path}`).toBe(404)
    }
    expect((await server.client().get(own.id)).id).toBe(own.id)
    const wrong = await fetch(`${base}/exec`, { method: 'POST', headers: admin, body: 'not json' })
    expect([wrong.status, await wrong.json()]).toEqual([400, { error: expect.stringContaining('JSON') as string }])
    for (const path of ['/v1/sandboxes/%ff', '/v1/%2e%2e', '/v1/sandboxes/x/fs?path=../etc', '//']) {
      expect((await fetch(server.dialectUrl('pandastack') + path, { headers: admin })).status).toBeLessThan(500)
    }
  })
})
