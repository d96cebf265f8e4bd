import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import type { Caller } from '../src/control-plane.ts'
import { NEVER, TestHome, type TestServer } from '../src/lifecycle/test-server.ts'
import { WORKSPACE_STEPS } from '../src/workspaces/steps.ts'
import { Upstream } from '../src/workspaces/testing/upstream.ts'

const VICTIM = join(import.meta.dirname, '../src/workspaces/testing/crash-victim.ts')

/** Runs a server until it dies at the step. Gives the workspace that a client was told of. */
async function crash(home: TestHome, step: string, upstream: Upstream): Promise<string | null> {
  const victim = spawn(process.execPath, [VICTIM, home.path, step, upstream.path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [told, signal] = await Promise.all([
    text(victim.stdout),
    new Promise<string | null>((resolve) => victim.once('exit', (_code, name) => resolve(name))),
  ])
  expect(signal).toBe('SIGKILL')
  return told === '' ? null : told.trim()
}

/** The volumes of this host and the rows that tell of them are the same, and nothing is under way. */
async function expectAgreement(home: TestHome, server: TestServer, caller: Caller): Promise<void> {
  const { store, plane } = server
  const seeds = await store.seeds.ofHost((await store.hosts.list())[0]?.id ?? '', ['making', 'ready', 'deleting'])
  expect(seeds.map(({ state }) => state).filter((state) => state !== 'ready')).toEqual([])
  const { items } = await plane.workspaces.list(caller, { limit: 100, cursor: null })
  expect(items.map(({ state }) => state).filter((state) => state !== 'ready' && state !== 'evicted')).toEqual([])
  const kept = items.filter(({ state }) => state === 'ready').map(({ volume }) => volume)
  expect(await home.volumes()).toEqual([...kept, ...seeds.map(({ id }) => id)].toSorted())
  expect(await store.operations.claim({ owner: 'nobody', leaseMs: 1, limit: 10 })).toEqual([])
  expect(server.problems).toEqual([])
}

describe('a server that is killed while it works on a workspace', () => {
  it.each(WORKSPACE_STEPS)('finishes or undoes it after %s', async (step) => {
    using upstream = new Upstream()
    await using home = await TestHome.make()
    const told = await crash(home, step, upstream)
    await using server = await home.start()
    await server.plane.recovered
    const caller: Caller = { ...(await server.caller()), scopes: new Set(['admin', 'operator', 'workspaces']) }
    await expectAgreement(home, server, caller)
    const call = (key: string) => ({ idempotencyKey: key, signal: NEVER })
    const { workspaces } = server.plane
    // Who comes with the same key gets what was asked for, once.
    const made = await workspaces.create(caller, { path: upstream.path }, call('create'))
    if (told !== null) expect(made.id).toBe(told)
    const found = await workspaces.get(caller, made.id).catch(() => null)
    if (found?.state === 'ready') {
      const { commit } = await workspaces.commit(caller, made.id, { message: 'm' }, call('commit'))
      if (found.head !== null) expect(found.head).toBe(commit)
      const log = upstream.git('-C', upstream.path, 'log', '--format=%s', '--all').trim().split('\n')
      expect(log.filter((line) => line === 'm').length).toBeLessThanOrEqual(1)
    }
    if (found?.state === 'evicted') {
      const { patch } = await workspaces.diff(caller, made.id, 'base', NEVER)
      expect(Buffer.from(patch, 'base64').toString()).toContain('+once more')
    }
    await expectAgreement(home, server, caller)
  })
})
