import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RemoteSandbox } from '../index.ts'
import * as script from '../testing/scripted-server.fixture.ts'
import { EXIT, ID, output, STARTED } from '../testing/scripted-server.fixture.ts'

const EXEC = `POST /sandboxes/${ID}/exec`
const OUTPUT = `GET /sandboxes/${ID}/processes/7/output`
const SIGNAL = `POST /sandboxes/${ID}/processes/7/signal`
const exited = { type: 'exit', exit: { ...EXIT, exitCode: 3 } }

let server: script.ScriptedServer
let sandbox: RemoteSandbox
beforeEach(async () => {
  server = await script.ScriptedServer.listen()
  server.on(`GET /sandboxes/${ID}`, script.json(script.view())).on(SIGNAL, script.json({}))
  sandbox = await server.client().get(ID)
})
afterEach(async () => await server[Symbol.asyncDispose]())

/** Says which process it is, and then breaks. */
const broken: script.Reply = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'x-hearth-process': '7' }).write(' ')
  setTimeout(() => response.destroy(), 20)
}

describe('a command whose server goes away', () => {
  test('is found again, and never sent twice', async () => {
    server.on(EXEC, broken)
    server.on(
      OUTPUT,
      script.hangUp,
      script.failure(503, 'shutting_down', 'stopping', { retryable: true }),
      script.events(STARTED, output(0, 'one\n'), output(4, 'two\n', 'stderr')),
      script.events(STARTED, output(8, 'three\n'), exited),
    )
    const result = await sandbox.exec('x', { maxOutputBytes: 10 })
    expect(result).toMatchObject({ exitCode: 3, stdout: 'one\nth', stderr: 'two\n', output: 'one\ntwo\nth' })
    expect(result).toMatchObject({ truncated: true, totalOutputBytes: 14 })
    expect(server.asked(EXEC)).toHaveLength(1)
    expect(server.asked(EXEC)[0]?.headers['prefer']).toBe('process')
  })

  test('is found by the number in the error of a server that stops', async () => {
    server.on(EXEC, script.failure(503, 'shutting_down', 'x', { retryable: true, context: { process: 7 } }))
    const killed = { ...EXIT, exitCode: null, signal: 'SIGKILL' }
    server.on(OUTPUT, script.events(STARTED, { type: 'exit', exit: killed }))
    expect(await sandbox.exec('kill -9 $$')).toMatchObject({ signal: 'SIGKILL' })
  })

  test('is lost when its number is not known, or when it was killed with its connection', async () => {
    server.on(EXEC, script.hangUp)
    await expect(sandbox.exec('x')).rejects.toMatchObject({ code: 'link_lost', retryable: true })
    expect(server.asked(OUTPUT)).toHaveLength(0)
    server.on(EXEC, broken)
    const killed = { ...EXIT, exitCode: null, signal: 'SIGKILL' }
    server.on(OUTPUT, script.events(STARTED, { type: 'exit', exit: killed }))
    await expect(sandbox.exec('x')).rejects.toMatchObject({ code: 'link_lost', context: { process: 7 } })
  })

  test('is killed when its caller gives up meanwhile', async () => {
    server.on(EXEC, broken).on(OUTPUT, script.openEvents(STARTED))
    const running = sandbox.exec('x', { signal: AbortSignal.timeout(300) })
    await expect(running).rejects.toMatchObject({ code: 'aborted' })
    expect(JSON.parse(server.asked(SIGNAL)[0]?.body.toString() ?? '')).toEqual({ signal: 'SIGKILL', tree: true })
  })
})
