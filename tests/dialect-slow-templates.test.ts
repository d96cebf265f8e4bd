import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Sandbox as PandaStackSandbox, ServerError } from '@pandastack/sdk'
import { Sandbox, ServiceBusyError } from 'e2b'
import { afterAll, expect, test } from 'vitest'
import { E2bServer } from './support/e2b-server.ts'

/** A first create whose template takes longer than clients wait: they are told, and the work goes on without them. */
const server = await E2bServer.start({ patienceMs: 300 })
const waiting: ServerResponse[] = []
/** Takes as long as it is let to. */
const registry = createServer((_, answer) => void waiting.push(answer)).listen(0, '127.0.0.1')
await once(registry, 'listening')
const image = `127.0.0.1:${(registry.address() as AddressInfo).port}/slow:1`
afterAll(async () => {
  registry.closeAllConnections()
  registry.close()
  await server[Symbol.asyncDispose]()
})

test('a template that is still being pulled is told as such, and goes on without anybody who waits', async () => {
  const metadata = { 'hearth.rung': 'process' }
  const config = { apiUrl: server.dialect('pandastack'), apiKey: server.key }
  const byE2b = (): Promise<unknown> => Sandbox.create(image, { metadata })
  const byPandaStack = (): Promise<unknown> => PandaStackSandbox.create({ template: image, metadata }, config)
  await expect(byE2b()).rejects.toBeInstanceOf(ServiceBusyError)
  await expect(byE2b()).rejects.toThrow(/slow:1 is still being made/)
  const told = await byPandaStack().catch((error: unknown) => error)
  expect(told).toBeInstanceOf(ServerError)
  expect(told).toMatchObject({ statusCode: 503, message: expect.stringMatching(/create again/) as string })
  // One pull for all of them, which nobody has broken off.
  expect(waiting.map((answer) => answer.destroyed)).toEqual([false])
  expect(await Sandbox.list().nextItems()).toEqual([])
  // What came of it is told to the next.
  for (const answer of waiting.splice(0)) answer.writeHead(404).end()
  registry.removeAllListeners('request').on('request', (_, answer: ServerResponse) => answer.writeHead(404).end())
  await expect
    .poll(() => byE2b().catch((error: unknown) => String(error)), { timeout: 20_000 })
    .toMatch(/not found|404|manifest/i)
})

test('others are served meanwhile, and no more than a few are made at once', async () => {
  registry.removeAllListeners('request').on('request', (_, answer: ServerResponse) => void waiting.push(answer))
  const metadata = { 'hearth.rung': 'process' }
  const refusals = await Promise.all(
    Array.from({ length: 6 }, async (_, index) => {
      const error = await Sandbox.create(image.replace('slow', `slow-${index}`), { metadata }).catch(
        (each: unknown) => each,
      )
      return String(error)
    }),
  )
  expect(refusals.filter((text) => /still being made/.test(text))).toHaveLength(4)
  expect(refusals.filter((text) => /other templates are just being made/.test(text))).toHaveLength(2)
  const sandbox = await Sandbox.create('host', { metadata })
  expect((await sandbox.commands.run('echo served')).stdout).toBe('served\n')
  await sandbox.kill()
})
