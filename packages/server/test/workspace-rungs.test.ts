import { readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Rung } from '@hearth/contract'
import { Hearth, hostPaths } from '@hearth/engine'
import type { Caller } from '../src/control-plane.ts'
import { NEVER, TestHome, type TestServer } from '../src/lifecycle/test-server.ts'
import { Upstream } from '../src/workspaces/testing/upstream.ts'

const RUNGS: readonly Rung[] = ['process', 'container', 'gvisor', 'microvm']
/** Says each number when it is written, and never ends by itself. */
const WRITER = 'i=0; while :; do i=$((i+1)); echo $i >>written && echo $i; sleep 0.01; done'

/** Where a kernel of its own cannot show the host's files. A new home has none, and making it takes minutes. */
const TEMPLATE = 'debian'

async function shareTemplates(home: string): Promise<void> {
  await using engine = new Hearth({ spareKeepers: 0 })
  const reports = await engine.rungs()
  if (reports.some(({ probe }) => probe.available && !probe.capabilities.hostTemplate && probe.capabilities.volumes))
    await engine.templates.resolve(TEMPLATE, {})
  const own = hostPaths()
  symlinkSync(own.templates, join(home, 'templates'))
  const there = readdirSync(join(home, 'cache'))
  for (const name of readdirSync(own.cache))
    if (!there.includes(name)) symlinkSync(join(own.cache, name), join(home, 'cache', name))
}

/** Ends the sandbox in the middle of its writing, and gives the last number that was told. */
async function writeUntilKilled(server: TestServer, caller: Caller, id: string): Promise<number> {
  let told = ''
  {
    using use = await server.plane.use(caller, id)
    const writer = await use.sandbox.spawn(WRITER)
    const reading = (async () => {
      for await (const part of writer.output) told += Buffer.from(part.data).toString()
    })().catch(() => undefined)
    while (told.split('\n').length < 20) await sleep(20)
    await server.plane.delete(caller, id)
    await reading
  }
  return Number(told.trimEnd().split('\n').at(-1))
}

interface Inside {
  readonly id: string
  readonly rung: Rung
  /** The rungs on which it was committed to before. */
  readonly before: readonly string[]
}

/** git works as whoever runs there: each command succeeds, and what was committed on another rung is there. */
async function expectGit(server: TestServer, caller: Caller, { id, rung, before }: Inside): Promise<void> {
  using use = await server.plane.use(caller, id)
  const git = async (command: string): Promise<string> => {
    const { exitCode, stdout, stderr } = await use.sandbox.exec(command)
    expect([rung, command, exitCode, stderr]).toEqual([rung, command, 0, ''])
    return stdout
  }
  expect(await git('git status --porcelain -- README.md before')).toBe('')
  expect(await git('git log --format=%s')).toBe([...before.toReversed(), 'first', ''].join('\n'))
  await git(`echo ${rung} >>before`)
  expect(await git('git add before && git diff --cached --numstat')).toBe('1\t0\tbefore\n')
  await git(`git commit --quiet --message ${rung}`)
  expect(await git('git log -1 --format=%s')).toBe(`${rung}\n`)
  expect(await git('git diff HEAD --stat')).toBe('')
}

it('a workspace has every completed write after the death of its execution, a restart of the server and on another rung', async (context) => {
  using upstream = new Upstream()
  await using home = await TestHome.make()
  await shareTemplates(home.path)
  const first = await home.start()
  const caller: Caller = { ...(await first.caller()), scopes: new Set(['admin', 'operator', 'workspaces']) }
  const templates = new Map<Rung, string>()
  for (const { rung, probe } of await first.plane.rungs())
    if (probe.available && probe.capabilities.volumes)
      templates.set(rung, probe.capabilities.hostTemplate ? 'host' : TEMPLATE)
  const rungs = RUNGS.filter((rung) => templates.has(rung))
  if (rungs.length === 0) context.skip('no rung runs here')
  const call = { idempotencyKey: null, signal: NEVER }
  const { id: workspace } = await first.plane.workspaces.create(caller, { path: upstream.path }, call)
  await first[Symbol.asyncDispose]()
  const expected: string[] = []
  for (const rung of rungs) {
    await using server = await home.start()
    const sandbox = await server.create({ rung, workspace, template: templates.get(rung) ?? TEMPLATE })
    const before = expected.map((name) => `${name}\n`).join('')
    expect(await server.run(sandbox.id, 'cat before 2>/dev/null'), rung).toBe(before)
    await expectGit(server, caller, { id: sandbox.id, rung, before: [...expected] })
    await server.run(sandbox.id, 'rm -f written')
    expected.push(rung)
    const last = await writeUntilKilled(server, caller, sandbox.id)
    const next = await server.create({ rung: 'process', workspace })
    const written = (await server.run(next.id, 'cat written')).trimEnd().split('\n').map(Number)
    expect(written.slice(0, last), rung).toEqual(Array.from({ length: last }, (_, index) => index + 1))
    await server.plane.delete(caller, next.id)
  }
})
