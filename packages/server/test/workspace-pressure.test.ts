import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { WorkspaceView } from '@hearth/contract'
import type { Caller } from '../src/control-plane.ts'
import { NEVER, TestHome, type TestServer } from '../src/lifecycle/test-server.ts'
import { Upstream } from '../src/workspaces/testing/upstream.ts'

const CALL = { idempotencyKey: null, signal: NEVER } as const

let home: TestHome
let server: TestServer
let caller: Caller
let share: () => Promise<number> = () => Promise.resolve(0)
const upstreams = [new Upstream(), new Upstream()]

beforeAll(async () => {
  home = await TestHome.make()
  server = await home.start({ storeShare: async () => await share() })
  caller = { ...(await server.caller()), scopes: new Set(['admin', 'operator', 'workspaces'] as const) }
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await home[Symbol.asyncDispose]()
  for (const upstream of upstreams) upstream[Symbol.dispose]()
})

async function make(upstream = upstreams[0]): Promise<WorkspaceView> {
  return await server.plane.workspaces.create(caller, { path: upstream?.path ?? '' }, CALL)
}

async function stateOf({ id }: WorkspaceView): Promise<string> {
  return (await server.plane.workspaces.get(caller, id)).state
}

it('gives up the oldest clean workspaces at 85 % of the store and dirty ones at 95 %, whatever fails with one of them', async () => {
  // The oldest one cannot be looked at: the cache of its repository is broken.
  const broken = await make(upstreams[1])
  rmSync(join(home.path, 'store/repositories', broken.repository), { recursive: true })
  const dirty = await make()
  const sandbox = await server.create({ workspace: dirty.id })
  await server.run(sandbox.id, 'echo changed >README.md')
  await server.plane.delete(caller, sandbox.id)
  const [older, newer] = [await make(), await make()]
  const states = async (): Promise<string[]> => await Promise.all([broken, dirty, older, newer].map(stateOf))

  share = () => Promise.resolve(0.84)
  await server.plane.reconcile()
  expect(await states()).toEqual(['ready', 'ready', 'ready', 'ready'])

  share = async () => ((await stateOf(older)) === 'evicted' ? 0.84 : 0.85)
  await server.plane.reconcile()
  expect(await states()).toEqual(['ready', 'ready', 'evicted', 'ready'])
  expect(server.problems).toEqual([expect.stringContaining(`workspace ${broken.id} cannot be given up`)])

  share = () => Promise.resolve(0.94)
  await server.plane.reconcile()
  expect(await states()).toEqual(['ready', 'ready', 'evicted', 'evicted'])

  share = async () => ((await stateOf(dirty)) === 'evicted' ? 0.5 : 0.95)
  await server.plane.reconcile()
  expect(await states()).toEqual(['ready', 'evicted', 'evicted', 'evicted'])
  const { patch } = await server.plane.workspaces.diff(caller, dirty.id, 'base', NEVER)
  expect(Buffer.from(patch, 'base64').toString()).toContain('+changed')
})
