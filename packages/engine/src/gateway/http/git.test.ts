import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Secret } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway, type TestGateway } from './inspected.fixture.ts'
import { startServer, type Answer, type TestServer } from './servers.fixture.ts'

const NAME = 'git.test'
const token = 'ghp_0123456789abcdefABCDEF0123456789abcd'
const secrets: Secret[] = [
  { name: 'TOKEN', value: token, binding: { name: NAME, placement: { in: 'basic' }, branches: ['work', 'agent/*'] } },
]

describe('git with a token that only the gateway has', () => {
  let root: string
  let server: TestServer
  let gateway: TestGateway
  let clone: string

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'hearth-git-'))
    const repository = join(root, 'served', 'one.git')
    await mkdir(repository, { recursive: true })
    await promisify(execFile)('git', ['init', '-q', '--bare', '-b', 'main', repository])
    await promisify(execFile)('git', ['-C', repository, 'config', 'http.receivepack', 'true'])
    await promisify(execFile)('git', ['-C', repository, 'config', 'receive.advertisePushOptions', 'true'])
    server = await startServer(backend(join(root, 'served')))
    gateway = await startGateway({ name: NAME, upstreamPort: server.port, upstreamRoot: server.root, secrets })
    await writeFile(join(root, 'ca.pem'), gateway.root)
    clone = join(root, 'clone')
  })

  afterAll(async () => {
    gateway.close()
    server.close()
    await rm(root, { recursive: true })
  })

  const address = (): string =>
    `https://x-access-token:${gateway.secrets.all[0]?.placeholder ?? ''}@${NAME}:${gateway.port}/one.git`

  /** Unmodified git; the name leads to the gateway. */
  async function git(...args: readonly string[]): Promise<{ ok: boolean; text: string }> {
    const settings = [
      '-c',
      `http.curloptResolve=${NAME}:${gateway.port}:127.0.0.1`,
      '-c',
      'user.name=a',
      '-c',
      'user.email=a@b',
      '-c',
      'http.postBuffer=65536',
    ]
    const env = {
      ...process.env,
      GIT_TERMINAL_PROMPT: '0',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_SSL_CAINFO: join(root, 'ca.pem'),
    }
    return await promisify(execFile)('git', [...settings, ...args], { env }).then(
      ({ stdout, stderr }) => ({ ok: true, text: stdout + stderr }),
      (error: Error & { stdout: string; stderr: string }) => ({ ok: false, text: error.stdout + error.stderr }),
    )
  }

  it('clones, pushes what it may, fetches, and is told what it may not push', async () => {
    expect((await git('clone', address(), clone)).text).toContain('empty repository')
    await writeFile(join(clone, 'file'), 'one')
    // Larger than the buffer, so that the push is sent in chunks after a probe.
    await writeFile(join(clone, 'large'), Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7919) % 251)))
    await git('-C', clone, 'add', '.')
    await git('-C', clone, 'commit', '-qm', 'one')
    expect(await git('-C', clone, 'push', '-q', 'origin', 'HEAD:work')).toMatchObject({ ok: true })
    expect(await git('-C', clone, 'push', '-q', 'origin', 'HEAD:agent/a/b')).toMatchObject({ ok: true })
    for (const wrong of ['HEAD:main', 'HEAD:refs/tags/work', ':main', 'HEAD:workshop']) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const pushed = await git('-C', clone, 'push', 'origin', wrong)
      if (wrong === ':main') continue
      expect(pushed.ok).toBe(false)
      expect(pushed.text).toMatch(/remote: hearth: the secret may push to work, agent\/\* alone/)
      expect(pushed.text).toMatch(/\[remote rejected\].*branch not allowed/)
      expect(gateway.entries.at(-1)).toMatchObject({ kind: 'refusal', refusal: 'branch_not_allowed' })
    }
    const withOption = await git('-C', clone, 'push', '-o', 'merge_request.create', 'origin', 'HEAD:agent/b')
    expect(withOption.ok).toBe(false)
    expect(withOption.text).toMatch(/remote: hearth: .*without options/)
    const both = await git('-C', clone, 'push', 'origin', 'HEAD:work2', 'HEAD:agent/c')
    expect(both.ok).toBe(false)
    expect((await git('-C', clone, 'fetch', '-q')).ok).toBe(true)
    const listed = await git('-C', clone, 'ls-remote', 'origin')
    expect(listed.text.match(/refs\/\S+/g)).toEqual(['refs/heads/agent/a/b', 'refs/heads/work'])
  })

  it('the token is good for nothing else', async () => {
    const before = server.requests.length
    const pushed = await promisify(execFile)('curl', [
      '-sS',
      '--cacert',
      join(root, 'ca.pem'),
      '--resolve',
      `${NAME}:${gateway.port}:127.0.0.1`,
      '-X',
      'PUT',
      '-d',
      'x',
      `${address()}/refs/heads/main`,
    ])
    expect(JSON.parse(pushed.stdout)).toMatchObject({ error: { refusal: 'placeholder_misplaced' } })
    expect(server.requests).toHaveLength(before)
  })

  /** The real thing, behind a check of the token. */
  function backend(served: string): Answer {
    return (request, response, body) => {
      const url = new URL(request.url ?? '', 'https://x')
      const expected = `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`
      if (request.headers.authorization !== expected) {
        return void response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      }
      const child = spawn('git', ['http-backend'], {
        env: {
          ...process.env,
          GIT_PROJECT_ROOT: served,
          GIT_HTTP_EXPORT_ALL: '1',
          REQUEST_METHOD: request.method ?? '',
          PATH_INFO: url.pathname,
          QUERY_STRING: url.search.slice(1),
          CONTENT_TYPE: request.headers['content-type'] ?? '',
          CONTENT_LENGTH: String(body.length),
          HTTP_CONTENT_ENCODING: String(request.headers['content-encoding'] ?? ''),
          GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        },
      })
      child.stdin.on('error', () => undefined).end(body)
      const parts: Buffer[] = []
      child.stdout.on('data', (chunk: Buffer) => parts.push(chunk))
      child.stdout.on('end', () => {
        const output = Buffer.concat(parts)
        const at = output.indexOf('\r\n\r\n')
        const headers = output
          .toString('latin1', 0, at)
          .split('\r\n')
          .map((line) => line.split(': ', 2))
        const status = Number(headers.find(([key]) => key === 'Status')?.[1]?.slice(0, 3) ?? 200)
        response.writeHead(
          status,
          Object.fromEntries(headers.filter(([key]) => key !== 'Status')) as Record<string, string>,
        )
        response.end(output.subarray(at + 4))
      })
    }
  }
})
