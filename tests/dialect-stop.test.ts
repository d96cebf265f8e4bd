import type { SandboxId } from '@hearth/contract'
import { afterAll, expect, test } from 'vitest'
import { E2bRaw } from './support/e2b-raw.ts'

const raw = await E2bRaw.start()
let server = raw.server
afterAll(() => server[Symbol.asyncDispose]())

test('commands and cells go on when the server stops, and their callers are told', async () => {
  const { value } = await server.native.list().next()
  const { id } = value as { readonly id: SandboxId }
  const path = `/v1/sandboxes/${id}`
  const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' }
  const asked = (below: string, json: object) =>
    server.raw({
      dialect: 'pandastack',
      method: 'POST',
      path: `${path}/${below}`,
      headers,
      body: [JSON.stringify(json)],
    })
  const session = JSON.parse((await asked('repl/sessions', {})).body.toString()) as { readonly id: string }
  const late = (name: string): string => `import time\ntime.sleep(4)\nopen('/tmp/${name}', 'w').write('late')`
  const calls = [
    asked('exec', { cmd: 'touch /tmp/begun; sleep 4; echo late > /tmp/command' }),
    asked('exec/stream', { cmd: 'echo up; sleep 4; echo late > /tmp/stream' }),
    asked(`repl/sessions/${session.id}/run`, { code: late('cell') }),
    raw.envd({
      path: '/execute',
      headers: { 'e2b-sandbox-port': '49999', 'content-type': 'application/json' },
      body: [JSON.stringify({ code: late('interpreter') })],
    }),
  ]
  const told = Promise.all(calls)
  // Interpreters are there before they have been given the code.
  await new Promise((resolve) => setTimeout(resolve, 2000))
  server = await server.restarted()
  const [command, stream, cell, interpreter] = (await told).map(({ status, body }) => `${status} ${body.toString()}`)
  expect(command).toMatch(/^503 .*goes on.*do not run it a second time/)
  expect(stream).toMatch(/^200 event: stdout\n.*up[^]*event: error\ndata: .*the server is being stopped/)
  expect(cell).toMatch(/^503 .*goes on.*do not run it a second time/)
  expect(interpreter).toMatch(/^200 [^]*the server is being stopped[^]*end_of_execution/)
  const { files } = await server.native.get(id)
  for (const name of ['command', 'stream', 'cell', 'interpreter']) {
    await expect.poll(async () => await files.exists(`/tmp/${name}`), { timeout: 8000, message: name }).toBe(true)
  }
}, 60_000)
