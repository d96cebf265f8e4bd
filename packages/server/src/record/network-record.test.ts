import { createServer, type Server as HttpServer } from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { EventView, SandboxView } from '@hearth/contract'
import { learnPolicy } from '@hearth/engine/policy'
import { shareProbes } from '../lifecycle/shared-probes.ts'
import { serve, type Server } from '../serve.ts'

let home: string
let server: Server
let upstream: HttpServer
let port: number
let key: string

beforeAll(async () => {
  upstream = createServer((_, answer) => answer.end('answered'))
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  ;({ port } = upstream.address() as AddressInfo)
  home = await mkdtemp(join(tmpdir(), 'hearth-record-'))
  await shareProbes(home)
  const gateway = { resolve: async () => ['127.0.0.1'] }
  server = await serve({
    home,
    port: 0,
    logLevel: 'silent',
    prepare: false,
    engine: { spareKeepers: 0, gateway, pool: false },
  })
  key = server.firstKey?.token ?? ''
}, 60_000)
afterAll(async () => {
  await server.stop({ graceMs: 1000 })
  upstream.closeAllConnections()
  upstream.close()
  await rm(home, { recursive: true, force: true })
})

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(`${server.url}/v1${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${text}`)
  return (text === '' ? null : JSON.parse(text)) as T
}

it('ties what a command reached and was refused to the command and its step', { timeout: 60_000 }, async () => {
  const allow = [{ name: 'allowed.test', ports: [port], addresses: ['127.0.0.0/8'], methods: ['GET' as const] }]
  const { id } = await call<SandboxView>('POST', '/sandboxes', { rung: 'process', policy: { allow } })
  const get = (path: string, more = ''): string => `curl -sS ${more} http://allowed.test:${port}${path}`
  const command = `${get('/a/b?key=hidden')}; ${get('/c', '-X POST')}; curl -sS http://refused.test/; true`
  const { stdout } = await call<{ stdout: string }>('POST', `/sandboxes/${id}/exec`, { command, step: 'fetch' })
  expect(stdout).toContain('answered')
  expect(stdout).toContain('egress_refused')
  const timeline = async (): Promise<EventView[]> =>
    (await call<{ items: EventView[] }>('GET', `/events?sandbox=${id}&limit=1000`)).items
  // Written a moment after it happened, each kind in its own time.
  const told = async (): Promise<string[]> =>
    (await timeline()).flatMap(({ type, data }) =>
      type === 'network.connection' ? [type] : type === 'network.refused' ? [String(data['refusal'])] : [],
    )
  const awaited = ['method_not_allowed', 'name_not_allowed', 'network.connection', 'network.connection']
  await expect.poll(async () => (await told()).toSorted(), { timeout: 10_000 }).toEqual(awaited)
  const events = await timeline()
  const started = events.find(({ type }) => type === 'command.started')
  const network = events.filter(({ type }) => type.startsWith('network.'))
  const request = network.find(({ type }) => type === 'network.request')?.data
  expect(request).toMatchObject({ name: 'allowed.test', port, method: 'GET', path: '/a/b', status: 200, named: true })
  for (const { data } of network.filter(({ data: { process } }) => process !== null)) {
    expect(data).toMatchObject({ process: started?.data['process'], step: 'fetch' })
  }
  expect(request?.['process']).toBe(started?.data['process'])
  expect(JSON.stringify(network)).not.toContain('hidden')
  expect(await call('GET', `/sandboxes/${id}/record`)).toMatchObject({ valid: true })
  const { policy } = learnPolicy(events, { allow })
  expect(policy.allow).toEqual([
    { name: 'allowed.test', ports: [port], methods: ['GET'], paths: ['/a/b'], addresses: ['127.0.0.0/8'] },
  ])
  await call('DELETE', `/sandboxes/${id}`)
})
