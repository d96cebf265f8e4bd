import type { AgentEvent, RunId } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ServerResponse } from 'node:http'
import { ScriptedServer } from '../testing/scripted-server.fixture.ts'

let server: ScriptedServer
beforeAll(async () => {
  server = await ScriptedServer.listen()
})
afterAll(async () => await server[Symbol.asyncDispose]())

const RUN = `run_${'0'.repeat(20)}` as RunId
const event = (seq: number): AgentEvent => ({ type: 'steered', text: 'x', seq, at: seq })
const last = (seq: number): object => ({ type: 'result', seq, at: seq })

function stream(response: ServerResponse, ...items: object[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const item of items) response.write(`data: ${JSON.stringify(item)}\n\n`)
  response.end()
}

describe('runs', () => {
  it('follows over broken connections, each event once, to the end', async () => {
    server.on(
      `GET /runs/${RUN}/events`,
      (_request, response) => stream(response, event(3), event(4)),
      (_request, response) => void response.destroy(),
      (_request, response) => stream(response, event(4), event(5), last(6)),
    )
    const seen: number[] = []
    for await (const { seq } of server.client().runs.follow(RUN, { from: 3 })) seen.push(seq)
    expect(seen).toEqual([3, 4, 5, 6])
    const asked = server.asked(`GET /runs/${RUN}/events`).map(({ query }) => query.get('from'))
    expect(asked).toEqual(['3', '5', '5'])
  })

  it('takes messages up after the last one', async () => {
    const told = (number: number): object => ({ number, kind: 'steer', text: 't', at: new Date(0).toISOString() })
    server.on(
      `GET /runs/${RUN}/messages`,
      (_request, response) => stream(response, told(1)),
      (_request, response) => stream(response, told(1), told(2)),
    )
    const stop = new AbortController()
    const seen: number[] = []
    for await (const { number } of server.client().runs.messages(RUN, 0, stop.signal)) {
      seen.push(number)
      if (number === 2) break
    }
    expect(seen).toEqual([1, 2])
  })

  it('repeats what is written down when the answer was lost, and not what is told', async () => {
    server.on(
      `POST /runs/${RUN}/events`,
      (_request, response) => void response.destroy(),
      (_request, response) => void response.writeHead(204).end(),
    )
    await server.client().runs.append(RUN, 1, [event(0)])
    expect(server.asked(`POST /runs/${RUN}/events`)).toHaveLength(2)
    server.on(`POST /runs/${RUN}/messages`, (_request, response) => void response.destroy())
    await expect(server.client().runs.tell(RUN, 'stop')).rejects.toMatchObject({ code: 'link_lost' })
    expect(server.asked(`POST /runs/${RUN}/messages`)).toHaveLength(1)
  })

  it('lets no identifier lead elsewhere', async () => {
    await expect(server.client().runs.get('../keys')).rejects.toMatchObject({ code: 'invalid_request' })
  })
})
