import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Caller } from '../src/control-plane.ts'
import { NEVER, TestHome } from '../src/lifecycle/test-server.ts'
import { speakingFor } from '../src/workspaces/testing/ssh-processes.ts'
import { SshServer } from '../src/workspaces/testing/ssh-server.ts'
import { Upstream } from '../src/workspaces/testing/upstream.ts'

const VICTIM = join(import.meta.dirname, '../src/workspaces/testing/ssh-crash-victim.ts')

let home: TestHome
let upstream: Upstream
let victim: ChildProcess | null = null
beforeEach(async () => {
  upstream = new Upstream()
  upstream.write('large', randomBytes(1024 * 1024).toString('hex'))
  upstream.commit('large')
  home = await TestHome.make()
})
afterEach(async () => {
  victim?.kill('SIGKILL')
  await home[Symbol.asyncDispose]()
  upstream[Symbol.dispose]()
})

/** Serves what is there, but hangs in the middle of the call of this number. */
async function servedUntil(call: number): Promise<SshServer> {
  const serve = join(upstream.root, 'serve.sh')
  const lines = [
    `cd ${upstream.root}`,
    'echo >>calls',
    `[ "$(wc -l <calls)" = ${call} ] || exec sh -c "$SSH_ORIGINAL_COMMAND"`,
    `sh -c "$SSH_ORIGINAL_COMMAND" | { dd bs=1 count=20000 2>/dev/null; touch hangs; sleep 600; }`,
  ]
  writeFileSync(serve, `#!/bin/sh\n${lines.join('\n')}\n`, { mode: 0o755 })
  return await SshServer.start({ command: serve })
}

// A clone asks what there is, and then for it; a fetch does, too.
it.each([
  ['while it clones', 2, 'failed'],
  ['while it fetches', 4, 'ready'],
])(
  'a server that is killed %s over ssh leaves no key, no process and no half cache',
  { timeout: 60_000 },
  async (_, call, state) => {
    const remote = await servedUntil(call)
    const url = remote.urlOf(upstream.path.slice(1))
    const env = { ...process.env, HEARTH_TEST_KEY: remote.key }
    const spawned = spawn(process.execPath, [VICTIM, home.path, url], { stdio: ['ignore', 'ignore', 'inherit'], env })
    const ended = new Promise((resolve) => spawned.once('exit', (_code, signal) => resolve(signal)))
    victim = spawned
    const changed = setInterval(() => {
      // So that the second time there is something to be fetched.
      if (call < 4 || existsSync(join(upstream.root, 'more'))) return
      const calls = execFileSync('sh', ['-c', `cat ${upstream.root}/calls 2>/dev/null | wc -l`])
        .toString()
        .trim()
      if (Number(calls) < 2) return
      writeFileSync(join(upstream.root, 'more'), '')
      upstream.write('large', randomBytes(1024 * 1024).toString('hex'))
      upstream.commit('larger')
    }, 5)
    await vi.waitFor(() => expect(existsSync(join(upstream.root, 'hangs'))).toBe(true), 30_000)
    clearInterval(changed)
    expect(speakingFor(home.path).map(({ program }) => program)).toContain('ssh')
    spawned.kill('SIGKILL')
    expect(await ended).toBe('SIGKILL')

    await vi.waitFor(() => expect(speakingFor(home.path)).toEqual([]), 2000)
    const [, body = ''] = remote.key.split('\n')
    const left = execFileSync('sh', [
      '-c',
      `grep -rlF -e '${body}' '${home.path}' /dev/shm /tmp/hearth-* --exclude-dir='hearth-ssh-*' || true`,
    ])
    expect(left.toString()).toBe('')
    await remote[Symbol.asyncDispose]()

    await using server = await home.start()
    await server.plane.recovered
    const caller: Caller = { ...(await server.caller()), scopes: new Set(['admin', 'operator', 'workspaces']) }
    const { items } = await server.plane.repositories.list(caller, { limit: 10, cursor: null })
    expect(items).toMatchObject([{ state, url }])
    const cache = join(home.path, 'store/repositories', items[0]?.id ?? '')
    expect(existsSync(cache)).toBe(state === 'ready')
    if (state === 'ready')
      expect(readdirSync(cache, { recursive: true }).filter((name) => /tmp_|\.lock$/.test(String(name)))).toEqual([])

    // What it is asked for again, it does.
    await using again = await SshServer.ofRepositories(upstream.root, { port: remote.port, key: remote.key })
    for (const { host } of (await server.plane.repositories.hostKeys(caller, { limit: 10, cursor: null })).items)
      await server.plane.repositories.forgetHostKey(caller, host)
    expect(again.urlOf(upstream.path.slice(1))).toBe(url)
  },
)

it('what a killed git has locked is open again after the next start', async () => {
  const call = { idempotencyKey: null, signal: NEVER }
  const at = async (): Promise<string> => {
    await using server = await home.start()
    const caller: Caller = { ...(await server.caller()), scopes: new Set(['admin', 'operator', 'workspaces']) }
    const { id } = await server.plane.repositories.add(caller, { path: upstream.path }, call)
    await server.plane.repositories.fetch(caller, id, NEVER)
    return id
  }
  const cache = join(home.path, 'store/repositories', await at(), 'cache.git')
  upstream.write('new', 'new')
  upstream.commit('new')
  for (const name of ['refs/hearth/remote/heads/main.lock', 'packed-refs.lock', 'objects/pack/tmp_pack_Ab12Cd'])
    writeFileSync(join(cache, name), '')
  await at()
  expect(readdirSync(join(cache, 'objects/pack')).filter((name) => name.startsWith('tmp_'))).toEqual([])
})
