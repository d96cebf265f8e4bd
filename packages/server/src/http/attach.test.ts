import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
let base: string

beforeAll(async () => {
  server = await TestServer.start({ pingMs: 200, messageBytes: 64 * 1024 })
  base = `/v1/sandboxes/${(await server.sandbox()).id}/processes`
})
afterAll(() => server[Symbol.asyncDispose]())

interface Session {
  readonly socket: WebSocket
  readonly events: Record<string, unknown>[]
  readonly closed: Promise<number>
  text: string
}

function connect(path: string, options: { key?: string | null; protocols?: string[] } = {}): Session {
  const { key = server.key, protocols = [] } = options
  const headers = key === null ? {} : { authorization: `Bearer ${key}` }
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, protocols, { headers })
  const closed = once(socket, 'close').then(([code]) => code as number)
  const session: Session = { socket, events: [], closed, text: '' }
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) session.text += data.toString('utf8')
    else session.events.push(JSON.parse(data.toString('utf8')) as Record<string, unknown>)
  })
  return session
}

const start = (json: object): Promise<{ id: number }> => server.json('POST', base, { json, status: 201 })

/** The status and body of a handshake that is refused. */
async function refused(path: string, options: { key?: string | null } = {}): Promise<{ status: number; code: string }> {
  const { key = server.key } = options
  const headers = key === null ? {} : { authorization: `Bearer ${key}` }
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, { headers })
  socket.on('error', () => {})
  const [, answer] = (await once(socket, 'unexpected-response')) as [
    unknown,
    NodeJS.ReadableStream & { statusCode: number },
  ]
  let body = ''
  for await (const chunk of answer) body += String(chunk)
  return { status: answer.statusCode, code: (JSON.parse(body) as { error: { code: string } }).error.code }
}

describe('a terminal on a WebSocket', () => {
  it('shows output, takes input and resizes, and tells the exit', async () => {
    const { id } = await start({
      command: 'stty -echo; echo ready; read a; echo "got $a"; stty size; exit 5',
      pty: { rows: 5, cols: 10 },
    })
    const session = connect(`${base}/${id}/attach`)
    await expect.poll(() => session.text).toContain('ready')
    session.socket.send(JSON.stringify({ type: 'resize', rows: 40, cols: 90 }))
    session.socket.send(Buffer.from('keys\n'))
    expect(await session.closed).toBe(1000)
    expect(session.text).toContain('got keys')
    expect(session.text).toContain('40 90')
    expect(session.events[0]).toMatchObject({ type: 'attached', process: id })
    expect(session.events[1]).toMatchObject({ type: 'position', stream: 'stdout', offset: 0 })
    expect(session.events.at(-1)).toMatchObject({ type: 'exit', exit: { exitCode: 5 } })
  })

  it('is taken up again from an offset after the connection broke', async () => {
    const { id } = await start({ command: 'echo abcdef; read x; echo "end $x"', stdin: 'pipe' })
    const first = connect(`${base}/${id}/attach`)
    await expect.poll(() => first.text).toBe('abcdef\n')
    first.socket.terminate()
    await first.closed
    const second = connect(`${base}/${id}/attach?offset=4`)
    await expect.poll(() => second.text).toBe('ef\n')
    second.socket.send(Buffer.from('now'))
    second.socket.send(JSON.stringify({ type: 'eof' }))
    await second.closed
    expect(second.text).toBe('ef\nend now\n')
  })

  it('takes the key as a subprotocol, and does not repeat it', async () => {
    const { id } = await start({ command: 'echo hi' })
    const session = connect(`${base}/${id}/attach`, { key: null, protocols: ['hearth', `hearth-key.${server.key}`] })
    await session.closed
    expect(session.socket.protocol).toBe('hearth')
    expect(session.text).toBe('hi\n')
  })

  it('makes a process wait for a client that does not read', async () => {
    const { id } = await start({ command: 'yes' })
    const session = connect(`${base}/${id}/attach`)
    await expect.poll(() => session.text.length).toBeGreaterThan(0)
    session.socket.pause()
    await new Promise((resolve) => setTimeout(resolve, 600))
    const before = await outputBytes(id)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(await outputBytes(id)).toBe(before)
    session.socket.terminate()
    await server.json('POST', `${base}/${id}/signal`, { json: { tree: true }, status: 204 })
  })

  it('refuses frames that mean nothing or are too large', async () => {
    for (const frame of ['{', '{"type":"dance"}', '{"type":"resize","rows":0,"cols":1}', '[]']) {
      const { id } = await start({ command: 'sleep 20', pty: { rows: 5, cols: 5 } })
      const session = connect(`${base}/${id}/attach`)
      await expect.poll(() => session.events.length).toBeGreaterThan(0)
      session.socket.send(frame)
      expect(await session.closed, frame).toBe(1011)
      expect(session.events.at(-1)).toMatchObject({ type: 'error', error: { code: 'invalid_request' } })
    }
    const { id } = await start({ command: 'cat > /dev/null', stdin: 'pipe' })
    const session = connect(`${base}/${id}/attach`)
    await once(session.socket, 'open')
    session.socket.send(Buffer.alloc(100_000))
    expect(await session.closed).toBe(1009)
  })

  it('is refused with an error body before the upgrade', async () => {
    const { id } = await start({ command: 'sleep 20' })
    expect(await refused(`${base}/${id}/attach`, { key: null })).toEqual({ status: 401, code: 'unauthorized' })
    expect(await refused(`${base}/999999/attach`)).toEqual({ status: 404, code: 'process_not_found' })
    expect(await refused(`${base}/${id}/attach?offset=x`)).toEqual({ status: 400, code: 'invalid_request' })
    expect(await refused('/v1/nothing')).toEqual({ status: 404, code: 'not_found' })
    expect(await refused(`${base}/${id}/attach`, { key: await server.newKey(['files']) })).toEqual({
      status: 403,
      code: 'forbidden',
    })
    expect(await refused(`${base}/${id}/attach`, { key: await server.newKey(['admin'], 'other') })).toEqual({
      status: 404,
      code: 'sandbox_not_found',
    })
    expect(await server.refusal('GET', `${base}/${id}/attach`)).toMatchObject({ status: 426, code: 'upgrade_required' })
    expect(await server.refusal('GET', `${base}/999999/attach`)).toMatchObject({
      status: 404,
      code: 'process_not_found',
    })
  })
})

async function outputBytes(id: number): Promise<number> {
  const { items } = await server.json<{ items: { id: number; outputBytes: number }[] }>('GET', base)
  return items.find((process) => process.id === id)?.outputBytes ?? 0
}
