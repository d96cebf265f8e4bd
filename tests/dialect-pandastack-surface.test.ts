import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  BadRequestError,
  Client,
  NetworkError,
  NotFoundError,
  type PandaStackError,
  Sandbox,
  ServerError,
  TemplateBuildError,
} from '@pandastack/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiProcess } from './support/api-process.ts'

const server = await ApiProcess.start({ dialects: ['pandastack'] })
afterAll(() => server[Symbol.asyncDispose]())
const url = server.dialectUrl('pandastack')
const config = { apiUrl: url, apiKey: server.key }
const client = new Client(config)

/** What the package offers besides what `dialect-pandastack.test.ts` drives: together every method of its sandboxes, files, templates and tokens. */
describe.each(['process', 'gvisor'])("the rest of the vendor's package on %s", (rung) => {
  const metadata = { 'hearth.rung': rung }
  let sandbox: Sandbox
  beforeAll(async () => {
    sandbox = await Sandbox.create({ template: 'host', ttlSeconds: 900, metadata }, config)
  })
  afterAll(async () => await sandbox.kill())

  test('by the class alone', async () => {
    expect([sandbox.template, sandbox.status]).toEqual(['host', 'running'])
    expect((await Sandbox.get(sandbox.id, config)).id).toBe(sandbox.id)
    expect((await Sandbox.list(config)).map(({ id }) => id)).toContain(sandbox.id)
    expect((await Sandbox.fromInfo(sandbox.info, client).exec('echo same')).stdout).toBe('same\n')
    expect((await sandbox.commands.run('echo alias')).stdout).toBe('alias\n')
    let disposed = ''
    {
      await using short = await Sandbox.create({ template: 'host', ttlSeconds: 60, metadata }, config)
      disposed = short.id
    }
    await expect(client.sandboxes.get(disposed)).rejects.toBeInstanceOf(NotFoundError)
    await expect(client.sandboxes.delete(disposed)).rejects.toBeInstanceOf(NotFoundError)
  })

  test('a client that gives up ends its command', async () => {
    const hasty = new Client({ ...config, timeoutMs: 3000 })
    const asking = (await hasty.sandboxes.get(sandbox.id)).exec('sleep 600.25')
    asking.catch(() => {})
    const running = async (): Promise<string> =>
      (await sandbox.exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[6]00.25' || true")).stdout
    await expect.poll(running).not.toBe('0\n')
    await expect(asking).rejects.toBeInstanceOf(NetworkError)
    await expect.poll(running).toBe('0\n')
  })

  test('a stream that runs too long, and what ended commands have written', async () => {
    const streaming = sandbox.execStream('echo before; sleep 60', { timeoutSeconds: 1 })
    await expect(streaming).rejects.toThrow(/timeout/)
    const lines: string[] = []
    for await (const line of sandbox.logs({ follow: true })) lines.push(line)
    expect(lines).toContain('before')
    let text = ''
    for await (const piece of sandbox.logs()) text += piece
    expect(text).toContain('before')
  })

  test('files, to and from the machine of the client', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'hearth-panda-'))
    await writeFile(join(directory, 'up'), 'ä content')
    expect(await sandbox.filesystem.upload(join(directory, 'up'), '/tmp/tree/a/up')).toEqual({
      path: '/tmp/tree/a/up',
      bytes: 10,
    })
    await sandbox.filesystem.download('/tmp/tree/a/up', join(directory, 'down'))
    expect(await readFile(join(directory, 'down'), 'utf8')).toBe('ä content')
    await rm(directory, { recursive: true })
    expect(await sandbox.filesystem.stat('/tmp/tree/a')).toMatchObject({ name: 'a', is_dir: true, mode: 'd' })
    await sandbox.filesystem.write('/tmp/tree/b', new Uint8Array([1, 2, 255]))
    expect((await sandbox.filesystem.stat('/tmp/tree/b')).size).toBe(3)
    const walked: string[] = []
    for await (const { dir, files } of sandbox.filesystem.walk('/tmp/tree'))
      walked.push(dir, ...files.map(({ name }) => name))
    expect(walked).toEqual(['/tmp/tree', 'b', '/tmp/tree/a', 'up'])
    await expect(sandbox.filesystem.list('/tmp/none')).rejects.toBeInstanceOf(NotFoundError)
    await expect(sandbox.filesystem.read('relative')).rejects.toBeInstanceOf(BadRequestError)
  })

  test('trees of forks, which live as long as their parent, and one of which stays', async () => {
    const children = await sandbox.forkTree({ count: 3, metadata: { purpose: 'tree', 'secret.k': 'hidden' } })
    expect(children).toHaveLength(3)
    for (const child of children) {
      expect(child.info).toMatchObject({ status: 'running', template: 'host', metadata: { purpose: 'tree' } })
      expect(child.info.metadata).not.toHaveProperty('secret.k')
      expect(child.info.metadata).toHaveProperty('fork_tree_id')
    }
    const [first = sandbox, ...others] = children
    const left = ((await first.lifecycle()) as { ttl_seconds: number }).ttl_seconds
    expect(Math.abs(left - ((await sandbox.lifecycle()) as { ttl_seconds: number }).ttl_seconds)).toBeLessThan(60)
    // Without its tree being named: the sandbox knows it.
    const promoted = (await first.promote({ cleanupSiblings: true })) as { winner: string; deleted: string[] }
    expect(promoted).toMatchObject({ winner: first.id, failures: {} })
    expect(new Set(promoted.deleted)).toEqual(new Set(others.map(({ id }) => id)))
    await first.kill()
    await expect(sandbox.forkTree({ count: 17 })).rejects.toBeInstanceOf(BadRequestError)
    const explored = await sandbox.explore(['true', 'false'], { ttlSeconds: 120, cleanupLosers: false })
    const tree = (await client.sandboxes.list()).filter(({ info }) => info.metadata?.['explore'] === '1')
    expect(tree).toHaveLength(2)
    for (const each of tree) {
      expect(((await each.lifecycle()) as { ttl_seconds: number }).ttl_seconds).toBeLessThanOrEqual(120)
      await each.kill()
    }
    expect(explored.winnerOutcome?.exitCode).toBe(0)
  })

  test('its life', async () => {
    expect((await sandbox.setPersistent(true)).ttl_seconds).toBeGreaterThan(29 * 24 * 3600)
    expect((await sandbox.setPersistent(false)).ttl_seconds).toBeLessThanOrEqual(3600)
    await expect(sandbox.setTtl(-1)).rejects.toBeInstanceOf(BadRequestError)
    const nothing = client.request('PATCH', `/sandboxes/${sandbox.id}/lifecycle`, { json: {} })
    await expect(nothing).rejects.toThrow(/nothing to change/)
  })

  test('previews, under the host that the client is told', async () => {
    await sandbox.exec(
      'mkdir -p /tmp/web && echo hello > /tmp/web/page && cd /tmp/web && nohup python3 -m http.server 8124 > /dev/null 2>&1 &',
    )
    Object.assign(client, { previewHost: `localhost:${new URL(url).port}` })
    const of = await client.sandboxes.get(sandbox.id)
    await expect.poll(async () => Object.keys(await of.previewUrls()), { timeout: 20_000 }).toContain('8124')
    const preview = new URL(of.previewUrl(8124, 'http'))
    expect(await get(preview.host, '/page')).toEqual([200, 'hello\n'])
    expect((await get(preview.host.replace('8124', '8125'), '/'))[0]).toBe(502)
    // Those of other makers are not open, and are not told from those that there are not.
    await using other = await server.client().create({ rung: 'process' })
    const hidden = await get(`80-${other.id}.localhost`, '/')
    expect(hidden).toEqual(await get(`80-sb_${'0'.repeat(20)}.localhost`, '/'))
    expect(hidden[0]).toBe(404)
  })

  test('templates, of an image and of a Dockerfile with its files', { timeout: 180_000 }, async () => {
    const native = await server.client().get(sandbox.id)
    await native.snapshot({ name: `base-${rung}`, memory: 'none' })
    const registered = await client.templates.register({
      name: `registered-${rung}`,
      imageRef: `base-${rung}`,
      cpu: 2,
      memoryMb: 512,
    })
    expect(registered).toMatchObject({ name: `registered-${rung}`, status: 'running', size_mb: 1024 })
    expect(await client.templates.waitForBuild(registered.id, { intervalMs: 200 })).toMatchObject({ status: 'done' })
    const dockerfile = `# what it is made of
ARG BASE=base-${rung}
FROM \${BASE} AS only
ARG WHO="the builder"
ENV FLAVOUR=sweet \\
    # in between
    OTHER="two words"
WORKDIR /srv/app
COPY --chmod=0755 src/*.sh ./
COPY . /srv/all/
RUN echo "made by $WHO, $FLAVOUR, $OTHER" > made && \\
    ./say.sh >> made
RUN ["sh", "-c", "echo list >> made"]
LABEL a=b
CMD ["sleep", "1"]
`
    const context = { 'src/say.sh': '#!/bin/sh\necho said\n', 'src/data.bin': new Uint8Array([0, 255]), 'ä.txt': 'x' }
    const build = await client.templates.buildFromDockerfile({ name: `built-${rung}`, dockerfile, context })
    const said: string[] = []
    for await (const line of client.templates.buildLogs(build.id)) said.push(line)
    expect(said.join('\n')).toContain('CMD has no effect')
    expect(await client.templates.buildStatus(build.id)).toMatchObject({ status: 'done', name: `built-${rung}` })
    expect((await client.templates.builds()).map(({ id }) => id)).toContain(build.id)
    const so: string[] = []
    for await (const line of client.templates.buildLogs(build.id, { follow: false })) so.push(line)
    expect(so).toEqual(said)
    const made = await client.sandboxes.create({ template: `built-${rung}`, ttlSeconds: 60 })
    const { stdout } = await made.exec(
      'cd /srv/app; cat made; ls /srv/all /srv/all/src; stat -c "%a %U" say.sh; echo $WHO$FLAVOUR; whoami',
    )
    expect(stdout).toBe(
      'made by the builder, sweet, two words\nsaid\nlist\n/srv/all:\nsrc\nä.txt\n\n/srv/all/src:\ndata.bin\nsay.sh\n755 root\nsweet\nroot\n',
    )
    expect(made.template).toBe(`built-${rung}`)
    expect((await server.client().get(made.id)).info.rung).toBe(rung)
    await made.kill()
    const sized = await client.sandboxes.create({ template: `registered-${rung}`, ttlSeconds: 60 })
    expect(sized.info).toMatchObject({ cpu: 2, memory_mb: 512 })
    await sized.kill()
    expect((await client.templates.list()).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['base', `built-${rung}`]),
    )
    expect(await client.templates.get(`registered-${rung}`)).toMatchObject({ cpu: 2, memory_mb: 512, is_global: false })
    await expect(client.templates.register({ name: `built-${rung}`, imageRef: 'x' })).rejects.toThrow(/exists/)
    const failing = await client.templates.buildFromDockerfile({
      name: 'failing',
      dockerfile: `FROM base-${rung}\nRUN exit 3`,
    })
    await expect(client.templates.waitForBuild(failing.id, { intervalMs: 200 })).rejects.toBeInstanceOf(
      TemplateBuildError,
    )
    await expect(client.templates.waitForBuild(failing.id)).rejects.toThrow(/exit status 3/)
    await client.templates.delete(`built-${rung}`)
    await expect(client.templates.get(`built-${rung}`)).rejects.toBeInstanceOf(NotFoundError)
    await expect(client.templates.delete(`built-${rung}`)).rejects.toBeInstanceOf(NotFoundError)
    await expect(client.templates.delete('base')).rejects.toMatchObject({ statusCode: 403 })
  })
})

/** By a host name that nobody has to resolve. */
async function get(host: string, path: string): Promise<readonly [number, string]> {
  return await new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const sent = request({ hostname, port, path, headers: { host } }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      answer.once('end', () => resolve([answer.statusCode ?? 0, text]))
    })
    sent.once('error', reject)
    sent.end()
  })
}

describe('builds that cannot be', () => {
  const build = (dockerfile: string, context: Record<string, string> = {}) =>
    client.templates.buildFromDockerfile({ name: 'never', dockerfile, context })

  test('are refused before anything is made', async () => {
    const wrong: readonly (readonly [string, number, RegExp])[] = [
      ['RUN true\n', 400, /begin with FROM/],
      ['FROM host\nFROM host\n', 501, /several stages/],
      ['FROM --platform=linux/arm64 host\n', 501, /--platform/],
      ['FROM host\nCOPY --from=other a b\n', 501, /--from/],
      ['FROM host\nCOPY none /x\n', 400, /none is not among the files/],
      ['FROM host\nCOPY ../../etc/passwd /x\n', 400, /does not lie in the files/],
      ['FROM host\nADD https://x.test/a /x\n', 501, /addresses/],
      ['FROM host\nRUN --mount=type=cache true\n', 501, /--mount/],
      ['FROM host\nRUN <<EOF\ntrue\nEOF\n', 501, /texts after/],
      ['FROM host\nONBUILD RUN true\n', 501, /ONBUILD/],
      ['FROM host\nUSER a;b\n', 400, /name of a user/],
      ['FROM host\nENV 1=2\n', 400, /ENV/],
      ['# escape=`\nFROM host\n', 400, /escape/],
      [`FROM host\n${'RUN true\n'.repeat(1001)}`, 400, /1000 instructions/],
    ]
    for (const [dockerfile, statusCode, message] of wrong) {
      const refused = await build(dockerfile).catch((error: unknown) => error as PandaStackError)
      expect(refused, dockerfile.slice(0, 60)).toMatchObject({
        statusCode,
        message: expect.stringMatching(message) as string,
      })
    }
    await expect(build('FROM host\nCOPY a b', { '../a': 'x' })).rejects.toThrow(/does not lie/)
    await expect(build('FROM host\nCOPY a b', { a: 'x'.repeat(51 * 1024 ** 2) })).rejects.toMatchObject({
      statusCode: 413,
    })
    const archive = client.templates.build({ name: 'x', rootfs: new Blob(['x']) })
    await expect(archive).rejects.toThrow(/root file systems/)
    await expect(client.templates.register({ name: 'base', imageRef: 'host' })).rejects.toThrow(/exists/)
    await expect(client.templates.buildStatus('none')).rejects.toBeInstanceOf(NotFoundError)
    expect(await client.templates.builds()).not.toContainEqual(expect.objectContaining({ name: 'never' }))
  })
})

describe('account', () => {
  test('tokens are listed by their beginning, and work no longer when they are revoked', async () => {
    expect(await client.me()).toMatchObject({ auth_method: 'api_key' })
    const made = await client.tokens.create('listed')
    expect((await client.tokens.list()).map(({ prefix, label }) => [prefix, label])).toContainEqual([
      made.prefix,
      'listed',
    ])
    await client.tokens.revoke(made.prefix)
    expect((await client.tokens.list()).map(({ prefix }) => prefix)).not.toContain(made.prefix)
    await expect(client.tokens.revoke(made.prefix)).rejects.toBeInstanceOf(NotFoundError)
  })

  test('what is not there is said by its name, by every part of the client', async () => {
    const missing: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['functions', () => client.functions.list()],
      ['schedules', () => client.schedules.list()],
      ['databases', () => client.databases.create()],
      ['apps', () => client.apps.list()],
    ]
    for (const [name, call] of missing) {
      const error = await call().catch((each: unknown) => each)
      expect(error, name).toBeInstanceOf(ServerError)
      expect((error as Error).message).toContain(name)
    }
  })
})
