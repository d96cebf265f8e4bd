import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ProcessView, SandboxView } from '@hearth/contract'
import { allEvents, outputText, readEvents } from './testing/events.ts'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
let sandbox: SandboxView
let base: string

beforeAll(async () => {
  server = await TestServer.start()
  sandbox = await server.sandbox()
  base = `/v1/sandboxes/${sandbox.id}/processes`
})
afterAll(() => server[Symbol.asyncDispose]())

const start = (json: object): Promise<{ id: number; pid: number }> => server.json('POST', base, { json, status: 201 })
const view = async (id: number): Promise<ProcessView | undefined> =>
  (await server.json<{ items: ProcessView[] }>('GET', base)).items.find((process) => process.id === id)

describe('background processes', () => {
  it('runs without a reader and keeps its output', async () => {
    const { id } = await start({ command: 'echo kept; exit 7' })
    await expect.poll(async () => (await view(id))?.exit).toMatchObject({ exitCode: 7 })
    const events = await allEvents(await server.call('GET', `${base}/${id}/output`))
    expect(outputText(events)).toBe('kept\n')
    expect(events.at(-1)).toMatchObject({ type: 'exit', exit: { exitCode: 7 } })
    expect(outputText(await allEvents(await server.call('GET', `${base}/${id}/output?offset=2`)))).toBe('pt\n')
    const resumed = await server.call('GET', `${base}/${id}/output`, { headers: { 'last-event-id': '3' } })
    expect(outputText(await allEvents(resumed))).toBe('t\n')
  })

  it('is followed from its start when the answer is the stream', async () => {
    const answer = await server.call('POST', base, {
      json: { command: 'echo first' },
      headers: { accept: 'text/event-stream' },
    })
    expect(answer.status).toBe(200)
    const events = await allEvents(answer)
    expect(events[0]).toMatchObject({ type: 'started' })
    expect(outputText(events)).toBe('first\n')
  })

  it('leaves a process running whose reader goes away, and ends at what is there without follow', async () => {
    const { id } = await start({ command: 'echo there; sleep 60' })
    const events = readEvents(await server.call('GET', `${base}/${id}/output`))
    await events.next()
    await events.next()
    await events.return()
    const now = await allEvents(await server.call('GET', `${base}/${id}/output?follow=false`))
    expect(outputText(now)).toBe('there\n')
    expect(now.map(({ type }) => type)).not.toContain('exit')
    const nothing = await allEvents(await server.call('GET', `${base}/${id}/output?follow=false&offset=6`))
    expect(nothing).toHaveLength(1)
    expect((await view(id))?.exit).toBeNull()
    await server.json('POST', `${base}/${id}/signal`, { json: { tree: true }, status: 204 })
    await expect.poll(async () => (await view(id))?.exit).toMatchObject({ signal: 'SIGKILL' })
  })

  it('takes standard input and signals while somebody else reads', async () => {
    const { id } = await start({ command: ['cat'], stdin: 'pipe' })
    const reader = allEvents(await server.call('GET', `${base}/${id}/output`))
    await server.json('PUT', `${base}/${id}/stdin`, { body: 'one ', status: 204 })
    await server.json('PUT', `${base}/${id}/stdin?eof=true`, { body: 'two', status: 204 })
    const events = await reader
    expect(outputText(events)).toBe('one two')
    expect(events.at(-1)).toMatchObject({ type: 'exit', exit: { exitCode: 0 } })
  })

  it('takes standard input without a reader', async () => {
    const { id } = await start({ command: 'read a; read b; echo "$b $a"', stdin: 'pipe' })
    await server.json('PUT', `${base}/${id}/stdin`, { body: 'world\n', status: 204 })
    await server.json('PUT', `${base}/${id}/stdin`, { body: 'hello\n', status: 204 })
    expect(outputText(await allEvents(await server.call('GET', `${base}/${id}/output`)))).toBe('hello world\n')
  })

  it('does not let a writer and a reader that come at once disturb each other', async () => {
    for (let round = 0; round < 15; round++) {
      const { id } = await start({ command: 'read a; read b; echo "$a$b"', stdin: 'pipe' })
      const write = (text: string): Promise<unknown> =>
        server.json('PUT', `${base}/${id}/stdin`, { body: text, status: 204 })
      const read = server.call('GET', `${base}/${id}/output`).then(allEvents)
      const [, events] = await Promise.all([write('x\n').then(() => write('y\n')), read])
      expect(outputText(events)).toBe('xy\n')
    }
  })

  it('gives every reader all of it, also when one goes', async () => {
    const { id } = await start({ command: 'echo x; read line; echo y; sleep 30', stdin: 'pipe' })
    const gone = readEvents(await server.call('GET', `${base}/${id}/output`))
    await gone.next()
    const read = (): Promise<Response> => server.call('GET', `${base}/${id}/output`)
    const readers = Promise.all([read().then(allEvents), read().then(allEvents)])
    await gone.return()
    await server.json('PUT', `${base}/${id}/stdin`, { body: 'z\n', status: 204 })
    await expect.poll(async () => (await view(id))?.outputBytes).toBe(4)
    await server.json('POST', `${base}/${id}/signal`, { json: { signal: 'SIGTERM' }, status: 204 })
    for (const events of await readers) expect(outputText(events)).toBe('x\ny\n')
    await expect.poll(async () => (await view(id))?.exit).toMatchObject({ signal: 'SIGTERM' })
  })

  it('resizes a terminal', async () => {
    const { id } = await start({ command: 'stty size; read x; stty size', pty: { rows: 10, cols: 20 } })
    const output = allEvents(await server.call('GET', `${base}/${id}/output`))
    await server.json('POST', `${base}/${id}/resize`, { json: { rows: 33, cols: 77 }, status: 204 })
    await server.json('PUT', `${base}/${id}/stdin`, { body: '\n', status: 204 })
    expect(outputText(await output)).toMatch(/10 20[^]*33 77/)
  })

  it('refuses what does not exist', async () => {
    expect(await server.refusal('GET', `${base}/4000000/output`)).toMatchObject({
      status: 404,
      code: 'process_not_found',
    })
    expect(await server.refusal('POST', `${base}/4000000/signal`, { json: {} })).toMatchObject({
      code: 'process_not_found',
    })
    expect(await server.refusal('PUT', `${base}/4000000/stdin`, { body: 'x' })).toMatchObject({
      code: 'process_not_found',
    })
    expect(await server.refusal('GET', `${base}/x/output`)).toMatchObject({ status: 400 })
    expect(await server.refusal('GET', `${base}/1/output?offset=-1`)).toMatchObject({ status: 400 })
    const { id } = await start({ command: 'sleep 20' })
    expect(await server.refusal('POST', `${base}/${id}/signal`, { json: { signal: 'SIGNOTHING' } })).toMatchObject({
      status: 400,
    })
    expect(
      await server.refusal('POST', `${base}/${id}/signal`, { json: { signal: 'SIGINT', tree: true } }),
    ).toMatchObject({ status: 400 })
    await server.json('POST', `${base}/${id}/signal`, { json: { tree: true }, status: 204 })
  })
})

describe('a sandbox that ends', () => {
  it('ends the streams that reach into it with a reason', async () => {
    const { id } = await server.sandbox()
    const path = `/v1/sandboxes/${id}`
    const output = readEvents(
      await server.call('POST', `${path}/exec/stream`, { json: { command: 'echo up; sleep 100' } }),
    )
    const changes = readEvents(await server.call('GET', `${path}/watch?path=/tmp`))
    const waiting = server.refusal('POST', `${path}/exec`, { json: { command: 'sleep 100' } })
    await output.next()
    await output.next()
    await changes.next()
    await server.json('DELETE', path, { status: 204 })
    expect((await output.next()).value).toMatchObject({ type: 'error', error: { code: 'sandbox_ended' } })
    expect((await changes.next()).value).toMatchObject({ type: 'error', error: { code: 'sandbox_ended' } })
    expect(await waiting).toMatchObject({ code: 'sandbox_ended', status: 410 })
  })
})

describe('code', () => {
  it('keeps state between calls', async () => {
    const path = `/v1/sandboxes/${sandbox.id}/code`
    await server.json('POST', path, { json: { code: 'x = 20' } })
    expect(await server.json('POST', path, { json: { code: 'print("hi"); x + 22' } })).toMatchObject({
      text: '42',
      stdout: 'hi\n',
      error: null,
    })
    expect(await server.json('POST', path, { json: { code: '1/0' } })).toMatchObject({
      error: { name: 'ZeroDivisionError' },
    })
    expect(await server.refusal('POST', path, { json: { code: 'x', language: 'cobol' } })).toMatchObject({
      status: 400,
    })
  })
})
