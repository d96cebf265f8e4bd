import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'

const guest = join(import.meta.dirname, '../build/hearth-guest')
const directory = mkdtempSync(join(tmpdir(), 'hearth-bridge-'))
const description = join(directory, 'container.json')
writeFileSync(description, JSON.stringify({ Image: 'anything' }))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

interface Engine extends AsyncDisposable {
  readonly path: string
  readonly requests: string[]
}

/** A container engine in few words: answers by the first line of a request; `attached` plays the container. */
async function startEngine(
  name: string,
  attached: (socket: Socket) => void,
  createStatus = '201 Created',
): Promise<Engine> {
  const requests: string[] = []
  const path = join(directory, name)
  const server: Server = createServer((socket) => {
    let received = ''
    socket.on('error', () => socket.destroy())
    const read = (chunk: Buffer): void => {
      received += chunk.toString('latin1')
      if (!received.includes('\r\n\r\n')) return
      const line = received.slice(0, received.indexOf('\r\n'))
      requests.push(line)
      socket.off('data', read)
      if (line.includes('/attach?')) {
        socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n')
        attached(socket)
      } else if (line.includes('/create?')) socket.end(`HTTP/1.1 ${createStatus}\r\n\r\n{"message":"why"}`)
      else socket.end('HTTP/1.1 204 No Content\r\n\r\n')
    }
    socket.on('data', read)
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  return { path, requests, [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) }
}

function frame(stream: number, text: string): Buffer {
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0])
  header.writeUInt32BE(Buffer.byteLength(text), 4)
  return Buffer.concat([header, Buffer.from(text)])
}

function attach(engine: Engine): ChildProcess {
  return spawn(guest, ['attach-docker', engine.path, 'hearth-test', description], { env: {}, stdio: 'pipe' })
}

async function finished(child: ChildProcess): Promise<{ code: number | null; output: string; errors: string }> {
  let [output, errors] = ['', '']
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, output, errors }
}

describe('attach-docker', () => {
  test('makes, attaches and starts, and takes the framing off, however it is cut', async () => {
    const said = Buffer.concat([
      frame(1, 'one '),
      frame(2, 'a complaint'),
      frame(1, ''),
      frame(1, 'two'),
      frame(1, '!'),
    ])
    await using engine = await startEngine('cut.sock', (socket) => {
      const send = (at: number): void => {
        if (at >= said.length) return void socket.end()
        socket.write(said.subarray(at, at + 3), () => setTimeout(send, 1, at + 3))
      }
      send(0)
    })
    expect(await finished(attach(engine))).toEqual({ code: 0, output: 'one two!', errors: 'a complaint' })
    expect(engine.requests.map((line) => line.split(/[ ?]/)[1])).toEqual([
      '/containers/create',
      '/containers/hearth-test/attach',
      '/containers/hearth-test/start',
    ])
  })

  test('passes megabytes both ways at once, and the end of its input', async () => {
    await using engine = await startEngine('echo.sock', (socket) => {
      socket.on('data', (chunk: Buffer) => socket.write(frame(1, chunk.toString('latin1'))))
      socket.on('end', () => socket.end())
    })
    const child = attach(engine)
    const content = Buffer.alloc(4 * 1024 * 1024, 'abcdefg')
    const result = finished(child)
    child.stdin?.end(content)
    const { code, output } = await result
    expect(code).toBe(0)
    expect(Buffer.from(output).equals(content)).toBe(true)
  })

  test('ends when the framing is broken', async () => {
    await using engine = await startEngine(
      'broken.sock',
      (socket) => void socket.write(Buffer.from([9, 9, 9, 9, 0, 0, 0, 1, 65])),
    )
    expect(await finished(attach(engine))).toMatchObject({
      code: 1,
      errors: expect.stringContaining('framing') as string,
    })
  })

  test('says why the engine refuses', async () => {
    await using engine = await startEngine('refuses.sock', () => undefined, '404 Not Found')
    expect(await finished(attach(engine))).toMatchObject({
      code: 1,
      errors: expect.stringContaining('404: {"message":"why"}') as string,
    })
  })

  test('refuses a name that would mean something in a path', async () => {
    const child = spawn(guest, ['attach-docker', join(directory, 'none'), '../../etc?x', description], { env: {} })
    expect(await finished(child)).toMatchObject({ code: 1 })
  })
})
