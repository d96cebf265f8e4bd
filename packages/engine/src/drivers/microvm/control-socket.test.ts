import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CONTROL_SOCKET, ControlSocket } from './control-socket.ts'

const GREETING = '{"QMP": {"version": {}, "capabilities": ["oob"]}}\r\n'
const DONE = '{"return": {}}\r\n'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'control-'))
})

afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** A QEMU that greets, takes the capabilities, and does as it likes with the commands after that. */
async function qemu(answer: (socket: Socket, command: string) => void, greeting = GREETING): Promise<AsyncDisposable> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.write(greeting)
    socket.setEncoding('utf8').on('data', (text: string) => {
      const { execute } = JSON.parse(text) as { execute: string }
      if (execute === 'qmp_capabilities') socket.write(DONE)
      else answer(socket, execute)
    })
  })
  await new Promise<void>((resolve) => server.listen(join(directory, CONTROL_SOCKET), resolve))
  return {
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

describe('the control socket of QEMU', () => {
  test('gives the answers, and passes over events', async () => {
    await using _ = await qemu((socket, command) => {
      socket.write('{"event": "STOP", "timestamp": {"seconds": 1}}\r\n{"return": ')
      socket.write(`{"command": "${command}"}}\r\n`)
    })
    using control = await ControlSocket.open(directory, 5000)
    expect(await control.execute('query-status', {}, 5000)).toEqual({ command: 'query-status' })
    expect(await control.execute('stop', {}, 5000)).toEqual({ command: 'stop' })
  })

  test('says what QEMU refused, and goes on', async () => {
    await using _ = await qemu((socket, command) =>
      socket.write(command === 'bad' ? '{"error": {"class": "GenericError", "desc": "no such thing"}}\r\n' : DONE),
    )
    using control = await ControlSocket.open(directory, 5000)
    await expect(control.execute('bad', {}, 5000)).rejects.toThrow('QEMU: no such thing')
    expect(await control.execute('good', {}, 5000)).toEqual({})
  })

  test.each<[string, (socket: Socket) => void, RegExp]>([
    ['silence', () => undefined, /did not answer stop within 50 ms/],
    ['what is no JSON', (socket) => socket.write('{"return": \r\n'), /no message/],
    ['another kind of message', (socket) => socket.write('[1, 2]\r\n'), /no message/],
    ['a line without end', (socket) => socket.write('x'.repeat(200_000)), /too long/],
    ['a long line', (socket) => socket.write(`"${'x'.repeat(100_000)}"\r\n`), /too long/],
    ['a flood of events', (socket) => socket.write('{"event": "X"}\r\n'.repeat(1100)), /too many events/],
    ['the end', (socket) => socket.end(), /closed its control socket/],
  ])('is given up after %s', async (_name, misbehave, expected) => {
    await using _ = await qemu(misbehave)
    using control = await ControlSocket.open(directory, 5000)
    const patience = expected.source.includes('50 ms') ? 50 : 5000
    await expect(control.execute('stop', {}, patience)).rejects.toThrow(expected)
    await expect(control.execute('cont', {}, 5000)).rejects.toThrow(expected)
  })

  test('answers that nobody asked for end it', async () => {
    await using _ = await qemu((socket) => socket.write(DONE + DONE))
    using control = await ControlSocket.open(directory, 5000)
    await control.execute('stop', {}, 5000)
    await expect(control.execute('cont', {}, 5000)).rejects.toThrow(/nobody asked/)
  })

  test('is not there when nobody listens, or nobody greets', async () => {
    await expect(ControlSocket.open(directory, 5000)).rejects.toThrow(/ENOENT/)
    await using _ = await qemu(() => undefined, '')
    await expect(ControlSocket.open(directory, 50)).rejects.toThrow(/did not answer its greeting/)
  })
})
