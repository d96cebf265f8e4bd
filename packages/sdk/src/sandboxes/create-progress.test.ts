import { expect, test } from 'vitest'
import * as script from '../testing/scripted-server.fixture.ts'
import { ID } from '../testing/scripted-server.fixture.ts'

const OTHER = ID.replace(/.$/, 'x')

function event(seq: number, type: string, data: object): object {
  return { seq, at: new Date().toISOString(), sandbox: ID, type, data, hash: null }
}

test(
  'a create that takes long tells what the server says about it, and about no other',
  { timeout: 30_000 },
  async () => {
    await using server = await script.ScriptedServer.listen()
    const lines: string[] = []
    const told = Promise.withResolvers<void>()
    let requestId = ''
    server.on('POST /sandboxes', (request, response) => {
      requestId = String(request.headers['x-request-id'])
      void told.promise.then(() => script.json(script.view(), 201)(request, response))
    })
    server.on('GET /sandboxes', script.json({ items: [script.view({ id: OTHER }), script.view()], next: null }))
    const page = (request: string): script.Reply =>
      script.json({ items: [event(1, 'sandbox.created', { request })], next: 1, dropped: null })
    server.on(
      'GET /events',
      page('of another'),
      (request, response) => page(requestId)(request, response),
      script.events(
        event(2, 'sandbox.progress', { line: 'unpacking' }),
        event(3, 'sandbox.progress', { line: 'done' }),
      ),
    )
    const made = server.client().create(
      {},
      {
        onProgress: (line) => {
          if (lines.push(line) === 2) told.resolve()
        },
      },
    )
    expect((await made).id).toBe(ID)
    expect(lines).toEqual(['unpacking', 'done'])
    expect(server.asked('GET /sandboxes')).toHaveLength(1)
  },
)

test('a create that is quick asks nothing else, and one whose progress cannot be had is made all the same', async () => {
  await using server = await script.ScriptedServer.listen()
  server.on('POST /sandboxes', script.json(script.view(), 201))
  await server.client().create({}, { onProgress: () => undefined })
  expect(server.requests).toHaveLength(1)
  server.on('POST /sandboxes', (request, response) => {
    setTimeout(() => {
      script.json(script.view(), 201)(request, response)
    }, 1500)
  })
  server.on('GET /sandboxes', script.failure(403, 'forbidden', 'no'))
  expect((await server.client().create({}, { onProgress: () => undefined })).id).toBe(ID)
})
