import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { layer, pushImage } from '../../engine/src/templates/oci/test-registry/images.ts'
import { LocalRegistry } from '../../engine/src/templates/oci/test-registry/local-registry.ts'
import { demandToken, LOGIN } from '../../engine/src/templates/oci/test-registry/protected-registry.ts'
import { saveImage } from '../../server/src/http/testing/save-image.ts'
import type { HearthCommand } from './hearth-command.ts'
import { ServerCommand } from './server-command.ts'

let command: ServerCommand
let home: string
let hearth: HearthCommand
beforeAll(async () => {
  command = await ServerCommand.start()
  hearth = command.hearth
  // The command line of another machine: it knows the server by its address and a key alone.
  home = await mkdtemp(join(tmpdir(), 'hearth-elsewhere-'))
  hearth.env['HEARTH_API_KEY'] = (await readFile(join(command.server.home, 'key'), 'utf8')).trim()
  hearth.env['HEARTH_HOME'] = home
})
afterAll(async () => {
  await command[Symbol.asyncDispose]()
  await rm(home, { recursive: true, force: true })
})

describe('template', () => {
  it('builds, lists and removes the templates of the server, not those of this machine', async () => {
    const path = join(command.server.home, 'image.tar')
    saveImage(path)
    const name = `archive:${path}`
    const built = await hearth.run(['template', 'build', name, '--json'])
    expect(built).toMatchObject({ code: 0 })
    expect(JSON.parse(built.stdout)).toMatchObject({ name, digest: expect.stringMatching(/^sha256:/) })
    // What the server says while it builds.
    expect(built.stderr).not.toBe('')
    expect((await hearth.run(['template', 'ls', '-q'])).stdout.split('\n')).toContain(name)
    const here = { HEARTH_URL: hearth.env['HEARTH_URL'] ?? '' }
    hearth.env['HEARTH_URL'] = ''
    expect((await hearth.run(['template', 'ls', '-q'])).stdout.split('\n')).not.toContain(name)
    Object.assign(hearth.env, here)
    expect(await hearth.run(['template', 'rm', name, 'nothing-there'])).toMatchObject({
      code: 1,
      stdout: `${name}\n`,
      stderr: expect.stringContaining('nothing-there'),
    })
    expect((await hearth.run(['template', 'ls', '-q'])).stdout.split('\n')).not.toContain(name)
  })

  it('pulls from a private registry with a password that is nowhere to be seen', { timeout: 60_000 }, async () => {
    await using open = await LocalRegistry.start()
    await pushImage(open, ['team/app', '1'], [layer([{ path: 'usr/bin/true', content: 'x' }])])
    await using registry = await demandToken(open)
    const name = `${registry.host}/team/app:1`
    expect(await hearth.failure('template', 'build', name)).toMatchObject({ code: 'registry_failed' })
    const { username, password } = LOGIN
    const options = ['template', 'build', name, '--registry-user', username, '--json']
    const refused = await hearth.run(options, 'another password\n')
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('registry_failed') })
    const built = await hearth.run(options, `${password}\n`)
    expect(JSON.parse(built.stdout)).toMatchObject({ name, digest: expect.stringMatching(/^sha256:/) })
    expect(`${built.stdout}${built.stderr}`).not.toContain(password)
    expect((await hearth.run(['template', 'ls', '-q'])).stdout.split('\n')).toContain(name)
    // Without a server the same is done on this machine.
    const here = { HEARTH_URL: hearth.env['HEARTH_URL'] ?? '' }
    hearth.env['HEARTH_URL'] = ''
    expect(await hearth.run(options, password)).toMatchObject({ code: 0 })
    Object.assign(hearth.env, here)
  })

  it('tells what the server refuses', async () => {
    expect(await hearth.failure('template', 'build', 'nothing-there')).toMatchObject({ code: 'template_not_found' })
    expect(await hearth.failure('template', 'rm', '..')).toMatchObject({ code: 'invalid_request' })
  })
})
