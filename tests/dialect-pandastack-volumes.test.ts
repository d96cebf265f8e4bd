import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { BadRequestError, Client, NotFoundError, Sandbox } from '@pandastack/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiProcess } from './support/api-process.ts'

const server = await ApiProcess.start({ dialects: ['pandastack'] })
afterAll(() => server[Symbol.asyncDispose]())
const url = server.dialectUrl('pandastack')
const config = { apiUrl: url, apiKey: server.key }
const client = new Client(config)

describe.each(['process', 'gvisor'])('volumes on %s', (rung) => {
  const metadata = { 'hearth.rung': rung }
  const name = `data-${rung}`

  test('outlive their sandboxes, and are read by many', { timeout: 60_000 }, async () => {
    expect(await client.volumes.create({ name, size_mb: 64 })).toMatchObject({ name, size_mb: 64 })
    expect((await client.volumes.list()).map((volume) => volume.name)).toContain(name)
    expect((await client.volumes.get(name)).size_mb).toBe(64)
    const options = { template: 'host', ttlSeconds: 120, metadata, volumes: [{ name }] }
    const writer = await Sandbox.create(options, config)
    await writer.filesystem.write(`/volumes/${name}/kept`, 'content')
    // One at a time may have it for writing.
    await expect(Sandbox.create(options, config)).rejects.toBeInstanceOf(BadRequestError)
    await expect(client.volumes.delete(name)).rejects.toBeInstanceOf(BadRequestError)
    await writer.kill()
    const read = { ...options, volumes: [{ name, readOnly: true }] }
    const [one, other] = [await Sandbox.create(read, config), await Sandbox.create(read, config)]
    for (const reader of [one, other]) {
      expect(await reader.filesystem.read(`/volumes/${name}/kept`)).toBe('content')
      expect((await reader.exec(`touch /volumes/${name}/x`)).exit_code).not.toBe(0)
      await reader.kill()
    }
    await client.volumes.delete(name)
    await expect(client.volumes.get(name)).rejects.toBeInstanceOf(NotFoundError)
  })
})

test('volumes that cannot be are refused', async () => {
  await expect(client.volumes.create({ name: 'Wrong Name', size_mb: 64 })).rejects.toBeInstanceOf(BadRequestError)
  await expect(client.volumes.create({ name: 'large', size_mb: 70_000 })).rejects.toBeInstanceOf(BadRequestError)
  const nowhere = Sandbox.create({ template: 'host', volumes: [{ name: 'none' }] }, config)
  await expect(nowhere).rejects.toBeInstanceOf(NotFoundError)
})

describe.each(['process', 'gvisor'])('a terminal on %s', (rung) => {
  let sandbox: Sandbox
  beforeAll(async () => {
    const metadata = { 'hearth.rung': rung }
    sandbox = await Sandbox.create({ template: 'host', ttlSeconds: 300, metadata }, config)
  })
  afterAll(async () => await sandbox.kill())

  test("opens by the vendor's command line", { timeout: 30_000 }, async () => {
    const program = join(import.meta.dirname, '../node_modules/@pandastack/sdk/dist/cli.js')
    const env = { ...process.env, PANDASTACK_API_URL: url, PANDASTACK_API_KEY: server.key }
    const child = spawn(process.execPath, [program, 'ssh', sandbox.id], { env, stdio: ['pipe', 'pipe', 'inherit'] })
    let seen = ''
    child.stdout.on('data', (data: Buffer) => (seen += data.toString()))
    // What is typed before it has connected is lost by the command line itself, and so is what comes before it listens.
    const prompted = (): string => {
      child.stdin.write('\n')
      return seen
    }
    await expect.poll(prompted, { timeout: 20_000, interval: 300 }).toMatch(/[#$] $/)
    child.stdin.write('echo $((40 + 2)) $TERM; exit 7\n')
    await once(child, 'exit')
    expect(seen).toMatch(/42 xterm-256color/)
    expect(seen).toContain('{"exit":7}')
  })

  test('is resized, and ends with its client', { timeout: 30_000 }, async () => {
    const socket = new WebSocket(`${socketUrl(sandbox.id)}/exec/pty?rows=20&cols=90&access_token=${server.key}`)
    socket.binaryType = 'arraybuffer'
    let seen = ''
    socket.addEventListener('message', ({ data }) => {
      seen += typeof data === 'string' ? data : Buffer.from(data as ArrayBuffer).toString()
    })
    await once(socket, 'open')
    socket.send(JSON.stringify({ stdin: 'stty size\n' }))
    await expect.poll(() => seen, { timeout: 10_000 }).toContain('20 90')
    socket.send(JSON.stringify({ resize: { rows: 33, cols: 120 } }))
    socket.send(Buffer.from('stty size; sleep 600.5\n'))
    await expect.poll(() => seen, { timeout: 10_000 }).toContain('33 120')
    const sleeping = async (): Promise<string> =>
      (await sandbox.exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[6]00.5' || true")).stdout
    await expect.poll(sleeping).not.toBe('0\n')
    socket.close()
    await expect.poll(sleeping, { timeout: 10_000 }).toBe('0\n')
  })

  test('says what is wrong', async () => {
    const refused = async (path: string, id = sandbox.id): Promise<number> => {
      const { port } = new URL(url)
      const socket = connect(Number(port), '127.0.0.1')
      const key = Buffer.alloc(16).toString('base64')
      socket.write(
        `GET /v1/sandboxes/${id}${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${key}\r\n\r\n`,
      )
      const [answer] = (await once(socket, 'data')) as [Buffer]
      socket.destroy()
      return Number(answer.toString().split(' ')[1])
    }
    const access = `access_token=${server.key}`
    expect(await refused('/ssh')).toBe(401)
    expect(await refused('/ssh?access_token=wrong')).toBe(401)
    expect(await refused(`/ssh?access_token=${await foreignKey()}`)).toBe(404)
    expect(await refused(`/ssh?rows=0&${access}`)).toBe(400)
    expect(await refused(`/ssh?${access}`, 'sb_00000000000000000000')).toBe(404)
    expect(await refused(`/exec/ws?${access}`)).toBe(501)
    const socket = new WebSocket(`${socketUrl(sandbox.id)}/ssh?${access}`)
    const told: string[] = []
    socket.addEventListener('message', ({ data }) => void (typeof data === 'string' && told.push(data)))
    await once(socket, 'open')
    socket.send('{"resize":{"rows":-1,"cols":1}}')
    await once(socket, 'close')
    expect(told.join('')).toMatch(/"error":.*rows/)
  })
})

function socketUrl(id: string): string {
  return `${url.replace('http', 'ws')}/v1/sandboxes/${id}`
}

/** Of a tenant that has nothing. */
async function foreignKey(): Promise<string> {
  const send = async <T>(path: string, body: object): Promise<T> => {
    const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' }
    const answer = await fetch(`${server.url}/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await answer.json()) as T
  }
  const { id } = await send<{ id: string }>('/tenants', { name: `other-${Date.now()}` })
  return (await send<{ key: string }>(`/tenants/${id}/keys`, { name: 'foreign', scopes: ['admin'] })).key
}
