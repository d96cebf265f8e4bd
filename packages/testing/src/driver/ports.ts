import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import type { Process, Sandbox } from '@hearth/contract'
import { collect, expectRefusal, sha256 } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

const PORTS = { needs: ['ports', 'processes'], timeoutMs: 60_000 } as const

/** Sends back what it receives, and ends when the other side does. */
const ECHO = `
import socket, sys, threading
family = socket.AF_INET6 if sys.argv[2] == "6" else socket.AF_INET
server = socket.create_server((sys.argv[3], int(sys.argv[1])), family=family, backlog=64)
def serve(connection):
    while True:
        data = connection.recv(65536)
        if not data: break
        connection.sendall(data)
    connection.sendall(b"|end")
    connection.close()
while True:
    connection, _ = server.accept()
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
`

async function echoServer(sandbox: Sandbox, port: number, family: '4' | '6' = '4'): Promise<Process> {
  const address = family === '4' ? '127.0.0.1' : '::1'
  const process = await sandbox.spawn(['python3', '-c', ECHO, String(port), family, address])
  await sandbox.port(port).ready({ timeoutMs: 20_000 })
  return process
}

export function describePorts(suite: Suite): void {
  suite.test('bytes go both ways, and each side ends by itself', PORTS, async (sandbox) => {
    await using server = await echoServer(sandbox, 8101)
    await using connection = await sandbox.port(8101).connect()
    await connection.write(Buffer.from('hello'))
    await connection.end()
    expect((await collect(connection.data)).toString()).toBe('hello|end')
    await server.kill()
  })

  suite.test('a megabyte each way', PORTS, async (sandbox) => {
    await using server = await echoServer(sandbox, 8102)
    await using connection = await sandbox.port(8102).connect()
    const sent = randomBytes(1024 * 1024)
    const reading = collect(connection.data)
    await connection.write(sent)
    await connection.end()
    const received = await reading
    expect(sha256(received.subarray(0, sent.length))).toBe(sha256(sent))
    expect(received.subarray(sent.length).toString()).toBe('|end')
    await server.kill()
  })

  suite.test('many connections at once', PORTS, async (sandbox) => {
    await using server = await echoServer(sandbox, 8103)
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        await using connection = await sandbox.port(8103).connect()
        await connection.write(Buffer.from(`connection ${index}`))
        await connection.end()
        return (await collect(connection.data)).toString()
      }),
    )
    expect(answers).toEqual(Array.from({ length: 20 }, (_, index) => `connection ${index}|end`))
    await server.kill()
  })

  suite.test('a server that listens on IPv6 alone', PORTS, async (sandbox) => {
    if ((await sandbox.exec('test -e /proc/net/if_inet6 && grep -q lo /proc/net/if_inet6')).exitCode !== 0) return
    await using server = await echoServer(sandbox, 8104, '6')
    await using connection = await sandbox.port(8104).connect()
    await connection.end()
    expect((await collect(connection.data)).toString()).toBe('|end')
    await server.kill()
  })

  suite.test('nothing listens', PORTS, async (sandbox) => {
    await expectRefusal(sandbox.port(8105).connect(), 'port_refused')
    await expectRefusal(sandbox.port(8105).ready({ timeoutMs: 300 }), 'timeout')
    await expectRefusal(sandbox.port(8105).ready({ signal: AbortSignal.timeout(100) }), 'aborted')
  })

  suite.test('ready waits until something listens', PORTS, async (sandbox) => {
    const waiting = sandbox.port(8106).ready({ timeoutMs: 20_000 })
    await using server = await sandbox.spawn(['sh', '-c', 'sleep 0.4; exec python3 -c "$0" 8106 4 127.0.0.1', ECHO])
    await waiting
    await using connection = await sandbox.port(8106).connect()
    await connection.end()
    expect((await collect(connection.data)).toString()).toBe('|end')
    await server.kill()
  })

  suite.test('a connection whose server dies ends', PORTS, async (sandbox) => {
    await using server = await echoServer(sandbox, 8107)
    await using connection = await sandbox.port(8107).connect()
    await server.kill()
    const received = await collect(connection.data).catch(() => Buffer.alloc(0))
    expect(received).toHaveLength(0)
  })

  suite.test('ports that are none', {}, async (sandbox) => {
    for (const port of [0, -1, 65_536, 1.5, Number.NaN]) {
      const attempt = async (): Promise<unknown> => await sandbox.port(port).connect()
      await expectRefusal(attempt(), 'invalid_request', 'capability_unsupported')
    }
  })
}
