import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Sandbox, Template } from 'e2b'
import { afterAll, describe, expect, test } from 'vitest'
import { startFront } from '../packages/engine/src/templates/oci/test-registry/front.ts'
import { pushImage } from '../packages/engine/src/templates/oci/test-registry/images.ts'
import { LocalRegistry } from '../packages/engine/src/templates/oci/test-registry/local-registry.ts'
import {
  BASIC,
  demandPassword,
  demandToken,
  LOGIN,
} from '../packages/engine/src/templates/oci/test-registry/protected-registry.ts'
import { E2bServer } from './support/e2b-server.ts'
import { shellLayer } from './support/shell-image.ts'

/** Template builds of images that a registry gives only to those who have its password. */

const server = await E2bServer.start()
const open = await LocalRegistry.start()
await pushImage(open, ['team/app', '1'], [shellLayer({ 'etc/secret': 'theirs\n' })])
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await open[Symbol.asyncDispose]()
})

function roots(): string[] {
  return readdirSync(join(server.home, 'templates/roots'))
}

/** What is written down below the home of the server but for the files of sandboxes and images. */
function written(): string {
  return readdirSync(server.home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\/(roots|store)(\/|$)/.test(entry.parentPath))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)).toString('latin1'))
    .join('\n')
}

describe.each([
  ['a password', demandPassword],
  ['a token', demandToken],
])('a registry that demands %s', (kind, protect) => {
  test('gives an image for one build, which is the template of its tenant', { timeout: 120_000 }, async () => {
    await using registry = await protect(open)
    const image = `${registry.host}/team/app:1`
    const name = `private-${kind.split(' ')[1]}`
    const template = Template().fromImage(image, LOGIN).runCmd('cat /etc/secret > /home/user/seen').runCmd('id')
    const said: string[] = []
    await Template.build(template, name, { onBuildLogs: ({ message }) => void said.push(message) })
    expect(said.join('\n')).toContain('uid=1000(user)')
    const made = await Sandbox.create(name)
    expect(await made.files.read('/home/user/seen')).toBe('theirs\n')
    const inside = (await made.commands.run('env')).stdout
    for (const text of [inside, said.join('\n'), written()]) {
      for (const secret of [LOGIN.password, BASIC.slice(6)]) expect(text).not.toContain(secret)
    }
    // The image is there for nobody by its name: the registry is asked, without what the build had.
    await expect(Sandbox.create(image)).rejects.toThrow(/registry|password|token|refuses/)
    await made.kill()
    expect(await Sandbox.deleteSnapshot(name)).toBe(true)
  })
})

describe('credentials', () => {
  test('that are wrong fail the build, are not told, and leave nothing', { timeout: 60_000 }, async () => {
    await using registry = await demandPassword(open)
    const before = roots()
    const password = 'a-password-that-is-wrong'
    const template = Template().fromImage(`${registry.host}/team/app:1`, { username: 'puller', password })
    const said: string[] = []
    const failure = await Template.build(template, 'wrong', {
      onBuildLogs: ({ message }) => void said.push(message),
    }).then(
      () => '',
      (error: unknown) => String(error),
    )
    expect(failure).toMatch(/refuses team\/app.* with status 401/)
    expect([failure, ...said, written()].join()).not.toContain(password)
    expect(roots()).toEqual(before)
  })

  test('are sent to no registry of the host itself for one who is no operator', { timeout: 60_000 }, async () => {
    const seen: unknown[] = []
    await using front = await startFront(open.host, async (request) => {
      seen.push(request.url)
      return false
    })
    const template = Template().fromImage(`${front.host}/team/app:1`, LOGIN)
    const apiKey = await server.foreignKey()
    await expect(Template.build(template, 'inner', { apiKey })).rejects.toThrow(/needs a key with the scope operator/)
    expect(seen).toEqual([])
  })

  test('of Google are the key of a service account', { timeout: 60_000 }, async () => {
    const seen: string[] = []
    await using front = await startFront(open.host, async (request, response) => {
      seen.push(Buffer.from(request.headers.authorization?.slice(6) ?? '', 'base64').toString())
      response.writeHead(401, { 'www-authenticate': 'Basic realm="r"' }).end()
      return true
    })
    const serviceAccountJSON = { type: 'service_account', private_key: 'line\nline' }
    const template = Template().fromGCPRegistry(`${front.host}/team/app:1`, { serviceAccountJSON })
    await expect(Template.build(template, 'google')).rejects.toThrow(/401/)
    expect(seen).toContain(`_json_key:${JSON.stringify(serviceAccountJSON)}`)
  })

  test('of Amazon, and for what is no image, are refused', async () => {
    const aws = { accessKeyId: 'id', secretAccessKey: 'a-key-of-amazon', region: 'eu-west-1' }
    const amazon = Template().fromAWSRegistry('1.dkr.ecr.eu-west-1.amazonaws.com/app:1', aws)
    await expect(Template.build(amazon, 'amazon')).rejects.toThrow(/501: .*fromAWSRegistry/)
    const local = Template().fromImage('base', LOGIN)
    await expect(Template.build(local, 'no-image')).rejects.toThrow(/no image of a registry/)
    const colon = Template().fromImage(`${open.host}/team/app:1`, { username: 'a:b', password: 'x' })
    await expect(Template.build(colon, 'colon')).rejects.toThrow(/400: .*username/)
  })
})
