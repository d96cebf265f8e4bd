import { Hearth } from '@hearth/engine'
import { afterAll, expect, test } from 'vitest'
import { startBenchServers } from '../bench/gateway/bench-servers.ts'
import { largeDownload, manyRequests, manySandboxes } from '../bench/gateway-load/gateway-load.ts'

// A small share of what `hearth bench gateway-load` does.
const servers = await startBenchServers()
const hearth = new Hearth({
  gateway: { resolve: async () => ['127.0.0.1'], extraRoots: [servers.certificate] },
})
const size = { sandboxes: 12, connections: 10, bytes: 200_000, downloadBytes: 100_000_000, requestSeconds: 1 }
const context = { hearth, servers, size }
const MB = 1024 ** 2

afterAll(async () => {
  await hearth.dispose()
  await servers[Symbol.asyncDispose]()
})

test('sandboxes with many open connections lose nothing', async () => {
  expect((await manySandboxes(context)).grownBytes).toBeLessThan(256 * MB)
})

test('a large download is whole, and the gateway holds little of it', async () => {
  expect((await largeDownload(context)).grownBytes).toBeLessThan(128 * MB)
})

test('many requests through opened TLS are all answered', async () => {
  expect((await manyRequests(context)).perSecond).toBeGreaterThan(50)
})
