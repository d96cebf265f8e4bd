import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Sandbox, Template } from 'e2b'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { json } from './support/e2b-raw.ts'
import { E2bServer, type Reply } from './support/e2b-server.ts'

const RUNGS = (process.env['HEARTH_RUNGS']?.split(',') ?? ['process', 'gvisor']).filter((rung) => rung !== 'simulated')
const server = await E2bServer.start({ uploadBytes: 1024 * 1024, bodyIdleMs: 1000 })
const context = await mkdtemp(join(tmpdir(), 'hearth-context-'))
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await rm(context, { recursive: true })
})

beforeAll(async () => {
  await mkdir(join(context, 'src/deep'), { recursive: true })
  await writeFile(join(context, 'one.txt'), 'one')
  await writeFile(join(context, 'src/a.py'), 'print("a")')
  await writeFile(join(context, 'src/deep/b.py'), 'print("b")')
  await writeFile(join(context, 'src/ignored.log'), 'x')
  await symlink('a.py', join(context, 'src/link'))
})

async function call(method: string, path: string, body?: object, key = server.key): Promise<Reply> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  return await server.raw({ method, path, headers, body: body === undefined ? [] : [JSON.stringify(body)] })
}

async function inside(template: string, command: string): Promise<string> {
  const sandbox = await Sandbox.create(template)
  try {
    return (await sandbox.commands.run(command)).stdout
  } finally {
    await sandbox.kill()
  }
}

for (const rung of RUNGS) {
  describe(`templates on ${rung}`, () => {
    let base = ''
    beforeAll(async () => {
      if (!(await server.has(rung))) return
      const sandbox = await Sandbox.create('host', { metadata: { 'hearth.rung': rung } })
      base = (await sandbox.createSnapshot({ name: `base-${rung}` })).snapshotId
      await sandbox.kill()
    })

    test('are made of commands, with what they leave', async (task) => {
      if (base === '') return task.skip(`${rung} does not work here`)
      const template = Template()
        .fromTemplate(base)
        .setEnvs({ FLAVOUR: 'sweet' })
        .setWorkdir('/home/user/app')
        .runCmd('echo "made by $FLAVOUR $(whoami)" > made')
        .runCmd('touch /opt/as-root', { user: 'root' })
        .makeDir('/home/user/app/made-dir')
        .makeSymlink('made', 'linked')
      const said: string[] = []
      await Template.build(template, `built-${rung}`, { onBuildLogs: ({ message }) => void said.push(message) })
      expect(said.join()).toContain('RUN touch /opt/as-root')
      expect([await Template.exists(`built-${rung}`), await Template.exists('not-built')]).toEqual([true, false])
      expect(
        await inside(`built-${rung}`, 'pwd; cat linked; echo $FLAVOUR; stat -c %U /opt/as-root; ls -d made-dir'),
      ).toBe('/home/user/app\nmade by sweet user\nsweet\nroot\nmade-dir\n')
      expect((await server.native.get((await created(`built-${rung}`)).replace(/^sb/, 'sb_'))).info.rung).toBe(rung)
      const wrong = Template().fromTemplate(base).runCmd('echo seen; exit 3')
      await expect(Template.build(wrong, 'wrong')).rejects.toThrow(/exit status 3/)
      const nobody = Template().fromTemplate(base).runCmd('whoami', { user: 'root123' })
      await expect(Template.build(nobody, 'wrong')).rejects.toThrow(
        "failed to run command 'whoami': command failed: unauthenticated: invalid username: 'root123'",
      )
      // The template of before is there still.
      const broken = Template().fromTemplate(base).runCmd('false')
      await expect(Template.build(broken, `built-${rung}`)).rejects.toThrow(/exit status 1/)
      expect(await inside(`built-${rung}`, 'cat made')).toBe('made by sweet user\n')
    })

    test('take files along', async (task) => {
      if (base === '') return task.skip(`${rung} does not work here`)
      const template = Template({ fileContextPath: context, fileIgnorePatterns: ['**/*.log'] })
        .fromTemplate(base)
        .setWorkdir('/home/user/work')
        .copy('one.txt', 'renamed.txt')
        .copy('one.txt', 'into/')
        .copy('src', '/home/user/all', { mode: 0o750 })
        .copy('src/*.py', '/opt/python/', { user: 'root' })
        .copy('src/**/*.py', '/opt/deep')
        .copy(['one.txt', 'src/a.py'], '/opt/both/')
        .runCmd('cat renamed.txt > seen')
      const said: string[] = []
      await Template.build(template, `files-${rung}`, { onBuildLogs: ({ message }) => void said.push(message) })
      // On the second rung the files are there already.
      expect(said.join()).toMatch(/Uploaded 'src'|Skipping upload of 'src'/)
      const command = [
        'cat renamed.txt into/one.txt seen; echo',
        'ls /home/user/all /opt/python /opt/deep /opt/deep/deep /opt/both',
        'readlink /home/user/all/link',
        'stat -c "%U %a" /home/user/all/a.py /opt/python/a.py',
        'ls -d /tmp/hearth-build* 2>/dev/null || true',
      ].join('; ')
      expect((await inside(`files-${rung}`, command)).split('\n')).toEqual(
        [
          'oneoneone',
          '/home/user/all:\na.py\ndeep\nlink\n',
          '/opt/both:\na.py\none.txt\n',
          '/opt/deep:\na.py\ndeep\n',
          '/opt/deep/deep:\nb.py\n',
          '/opt/python:\na.py',
          'a.py',
          'user 750\nroot 644',
          '',
        ].flatMap((part) => part.split('\n')),
      )
      // What was sent is not sent again.
      said.length = 0
      await Template.build(template, `files-${rung}`, { onBuildLogs: ({ message }) => void said.push(message) })
      expect(said).toContain("Skipping upload of 'src', already cached")
      expect(said).not.toContain("Uploaded 'src'")
    })

    test('have users, limits, and a command that runs where memory can be kept', { timeout: 120_000 }, async (task) => {
      if (base === '') return task.skip(`${rung} does not work here`)
      const limited = Template().fromTemplate(base).setUser('builder').runCmd('whoami > /tmp/who')
      await Template.build(limited, `limited-${rung}`, { cpuCount: 2, memoryMB: 512 })
      const sandbox = await Sandbox.create(`limited-${rung}`)
      expect((await sandbox.commands.run('cat /tmp/who; whoami')).stdout).toBe('builder\nbuilder\n')
      expect(await sandbox.getInfo()).toMatchObject({ cpuCount: 2, memoryMB: 512 })
      await sandbox.kill()
      const started = Template()
        .fromTemplate(base)
        .setStartCmd(
          'python3 -m http.server 8099',
          'python3 -c "import socket; socket.create_connection((\'127.0.0.1\', 8099))"',
        )
      const build = Template.build(started, `started-${rung}`)
      if (rung !== 'gvisor' && rung !== 'microvm') return await expect(build).rejects.toThrow(/memory|processes/)
      await build
      expect(await inside(`started-${rung}`, 'curl -s -o /dev/null -w %{http_code} http://127.0.0.1:8099/')).toBe('200')
    })
  })
}

/** A sandbox of a template, gone at the end. */
async function created(template: string): Promise<string> {
  const sandbox = await Sandbox.create(template, { timeoutMs: 30_000 })
  return sandbox.sandboxId
}

describe('tags', () => {
  const build = (name: string, content: string, options: object = {}) =>
    Template.build(Template().fromTemplate('base-process').runCmd(`echo ${content} > /tmp/v`), name, options)
  const value = (template: string): Promise<string> => inside(template, 'cat /tmp/v')

  test('lead to builds, are moved, listed and removed', { timeout: 120_000 }, async () => {
    expect((await build('tagged:v1.0', 'first')).tags).toEqual(['v1.0'])
    await expect(Sandbox.create('tagged')).rejects.toThrow(/tagged/)
    await expect(Sandbox.create('tagged:other')).rejects.toThrow("tag 'other' does not exist for template 'tagged'")
    expect(await value('tagged:v1.0')).toBe('first\n')
    await build('tagged', 'second', { tags: ['v2.0', 'default'] })
    expect([await value('tagged'), await value('tagged:v2.0'), await value('tagged:v1.0')]).toEqual([
      'second\n',
      'second\n',
      'first\n',
    ])
    expect(await Template.assignTags('tagged:v1.0', ['production', 'default'])).toMatchObject({
      tags: ['production', 'default'],
    })
    expect([await value('tagged'), await value('tagged:production')]).toEqual(['first\n', 'first\n'])
    const tags = async (): Promise<string[]> => (await Template.getTags('tagged')).map(({ tag }) => tag).toSorted()
    expect(await tags()).toEqual(['default', 'production', 'v1.0', 'v2.0'])
    await Template.removeTags('tagged', ['production', 'v2.0'])
    expect(await tags()).toEqual(['default', 'v1.0'])
    await expect(Template.removeTags('tagged', ['default'])).rejects.toThrow(/default/)
    await expect(Template.removeTags('tagged', ['v2.0'])).rejects.toThrow(/does not exist/)
    await expect(Template.assignTags('tagged:none', ['x'])).rejects.toThrow(/does not exist/)
    await expect(Template.getTags('none')).rejects.toThrow(/not found/)
    // The default one is a snapshot of that name for the native API, and no snapshot for E2B's.
    expect((await server.native.snapshots.get('tagged')).name).toBe('tagged')
    expect((await Sandbox.listSnapshots().nextItems()).flatMap(({ names }) => names ?? [])).not.toContain('tagged')
    expect(json(await call('GET', '/templates'))).toEqual(
      expect.arrayContaining([expect.objectContaining({ templateID: 'tagged', aliases: ['tagged'] })]),
    )
    expect(json(await call('GET', '/templates/tagged'))).toMatchObject({ templateID: 'tagged', buildStatus: 'ready' })
    expect((await call('DELETE', '/templates/team%2Ftagged%3Av1.0')).status).toBe(204)
    expect(await tags()).toEqual(['default'])
    expect((await call('DELETE', '/templates/tagged')).status).toBe(204)
    expect(await Template.exists('tagged')).toBe(false)
    expect((await call('DELETE', '/templates/tagged')).status).toBe(404)
  })

  test('are moved by a new build while sandboxes of the old one live', { timeout: 120_000 }, async () => {
    await build('living', 'old')
    const old = await Sandbox.create('living')
    await build('living', 'new')
    expect([await value('living'), (await old.commands.run('cat /tmp/v')).stdout]).toEqual(['new\n', 'old\n'])
    expect(json(await call('GET', '/templates/living'))).toMatchObject({ builds: [{}] })
    await old.kill()
    await build('living', 'newer')
    const left = async (): Promise<number> =>
      (await server.native.snapshots.list()).filter(({ name }) => name === null).length
    await expect.poll(left).toBe(0)
  })
})
