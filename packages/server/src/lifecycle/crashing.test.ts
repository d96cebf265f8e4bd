import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { STEPS } from './steps.ts'
import { EVERYTHING, NEVER, TestHome, type TestServer } from './test-server.ts'

/** Runs a server until it dies at the step, and gives what its clients were answered. */
async function crash(home: TestHome, step: string, ...unkeyed: string[]): Promise<Map<string, string>> {
  const program = join(import.meta.dirname, 'crash-victim.ts')
  const victim = spawn(process.execPath, [program, home.path, step, ...unkeyed], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output, signal] = await Promise.all([
    text(victim.stdout),
    new Promise<string | null>((resolve) => victim.once('exit', (_code, name) => resolve(name))),
  ])
  expect(signal).toBe('SIGKILL')
  return new Map(
    output
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split(' ') as [string, string]),
  )
}

/** What must hold after any crash, whatever was under way. */
async function expectAgreement(home: TestHome, server: TestServer): Promise<Record<string, string>> {
  await server.plane.recovered
  const states = await server.states()
  const alive = Object.keys(states)
    .filter((id) => states[id] === 'running' || states[id] === 'paused')
    .toSorted()
  const asleep = Object.keys(states).filter((id) => states[id] === 'hibernated')
  const atRest = ['running', 'paused', 'hibernated', 'stopped']
  expect(Object.values(states).filter((state) => !atRest.includes(state))).toEqual([])
  expect(await home.keepers()).toEqual(alive)
  expect(await home.directories()).toEqual([...alive, ...asleep].toSorted())
  expect(await home.snapshots()).toEqual([...(await expectedSnapshots(server)), ...(await home.slept())].toSorted())
  expect(await home.volumes()).toEqual((await server.volumes()).map(({ id }) => id).toSorted())
  expect(await server.store.operations.claim({ owner: 'nobody', leaseMs: 1, limit: 10 })).toEqual([])
  expect(server.problems).toEqual([])
  const { tenantId } = await server.caller()
  for (const id of Object.keys(states)) {
    expect(await server.store.events.verify(tenantId, id)).toMatchObject({ valid: true, problem: null })
  }
  return states
}

/** Those that are told of, and the points of the forks that live. */
async function expectedSnapshots(server: TestServer): Promise<string[]> {
  const { items } = await server.plane.list(await server.caller(), EVERYTHING)
  const origins = items.flatMap(({ origin }) => origin ?? [])
  return [...new Set([...origins, ...(await server.snapshots()).map(({ id }) => id)])].toSorted()
}

/** Its command goes on, and its output from the beginning is there. */
async function expectTicking(server: TestServer, answered: ReadonlyMap<string, string>): Promise<void> {
  using use = await server.plane.use(await server.caller(), answered.get('bystander') ?? '')
  const process = await use.sandbox.attach(Number(answered.get('ticker')))
  const started = Date.now()
  let output = ''
  for await (const { data } of process.output) {
    output += Buffer.from(data).toString()
    if (Date.now() - started > 200) break
  }
  const numbers = output.split('\n').slice(0, -1).map(Number)
  expect(numbers.length).toBeGreaterThan(5)
  expect(numbers).toEqual(numbers.map((_, index) => index + 1))
}

async function expectNothingAfterDeletes(home: TestHome, server: TestServer): Promise<void> {
  const caller = await server.caller()
  for (const id of Object.keys(await server.states())) await server.plane.delete(caller, id)
  for (const { id } of await server.snapshots()) await server.plane.snapshots.remove(caller, id)
  expect((await server.volumes()).map(({ lifetime, sandbox }) => [lifetime, sandbox])).toEqual(
    (await server.volumes()).map(() => ['durable', null]),
  )
  for (const { id } of await server.volumes()) await server.plane.volumes.remove(caller, id)
  expect([await home.snapshots(), await home.volumes()]).toEqual([[], []])
  expect([await server.states(), await home.directories(), await home.keepers(), home.mounts()]).toEqual([
    {},
    [],
    [],
    [],
  ])
}

describe('a server that is killed', () => {
  const steps = STEPS.filter((step) => !step.startsWith('recovery:'))

  it.each(steps)('at %s loses, doubles and orphans nothing', { timeout: 60_000 }, async (step) => {
    await using home = await TestHome.make()
    const answered = await crash(home, step)
    await using server = await home.start()
    const states = await expectAgreement(home, server)
    const bystander = answered.get('bystander') ?? ''
    expect(states[bystander]).toBe('running')
    await expectTicking(server, answered)
    await expectOutcome(server, step, states, answered.get('subject') ?? '')
    await expectCopies(server, step, answered.get('subject') ?? '')
    await expectNothingAfterDeletes(home, server)
  })

  it.each(['snapshot:taken', 'fork:launched'])(
    'at %s takes back what nobody will ask for again',
    { timeout: 60_000 },
    async (step) => {
      await using home = await TestHome.make()
      const answered = await crash(home, step, 'unkeyed')
      await using server = await home.start()
      const states = await expectAgreement(home, server)
      expect([Object.keys(states).length, await server.snapshots()]).toEqual([2, []])
      expect(await server.run(answered.get('subject') ?? '', 'cat /tmp/kept')).toBe('kept\n')
      await expectNothingAfterDeletes(home, server)
    },
  )

  it.each(['recovery:claimed', 'recovery:discarded'])(
    'again at %s recovers once more',
    { timeout: 60_000 },
    async (step) => {
      await using home = await TestHome.make()
      const answered = await crash(home, 'create:launched')
      await crash(home, step)
      await using server = await home.start()
      const states = await expectAgreement(home, server)
      expect(states[answered.get('bystander') ?? '']).toBe('running')
      const { id } = await server.create({}, 'key')
      expect(states[id]).toBe('running')
      await expectNothingAfterDeletes(home, server)
    },
  )
})

/** What became of the one that was changed when the server died. */
async function expectOutcome(
  server: TestServer,
  step: string,
  states: Record<string, string>,
  subject: string,
): Promise<void> {
  const [kind = ''] = step.split(':')
  if (kind === 'create') {
    const { id } = await server.create({}, 'key')
    expect(await server.run(id, 'echo works')).toBe('works\n')
    // The one without a key was answered to nobody, unless it was finished before.
    expect(Object.keys(states).length).toBeLessThanOrEqual(step === 'create:done' ? 3 : 2)
    return
  }
  const expected: Record<string, string | undefined> = { pause: 'paused', delete: undefined, stop: 'stopped' }
  if (kind === 'hibernate' || kind === 'wake') {
    // What was not finished is undone.
    const sleeps = ['hibernate:asleep', 'hibernate:done', 'wake:begun'].includes(step)
    expect(states[subject]).toBe(sleeps ? 'hibernated' : 'running')
  } else expect(states[subject]).toBe(kind in expected ? expected[kind] : 'running')
  if (kind !== 'delete' && kind !== 'stop') {
    expect(await server.run(subject, 'cat /tmp/kept /data/kept')).toBe('kept\nkept\n')
  }
  if (kind === 'renew') {
    const { expiresAt } = await server.plane.get(await server.caller(), subject)
    expect(Date.parse(expiresAt ?? '')).toBeGreaterThan(Date.now() + 1_000_000)
    using use = await server.plane.use(await server.caller(), subject)
    expect(use.sandbox.info.expiresAt.toISOString()).toBe(expiresAt)
  }
}

/** What became of snapshots and forks that were under way: they are given to who asks again. */
async function expectCopies(server: TestServer, step: string, subject: string): Promise<void> {
  const [kind] = step.split(':')
  const caller = await server.caller()
  const call = { idempotencyKey: 'key', signal: NEVER }
  if (kind === 'snapshot') {
    const { id } = await server.plane.copies.snapshot(caller, subject, { name: 'taken' }, call)
    expect((await server.snapshots()).map((info) => [info.id, info.name])).toEqual([[id, 'taken']])
    const copy = await server.create({ from: 'taken' })
    expect(await server.run(copy.id, 'cat /tmp/kept')).toBe('kept\n')
  }
  if (kind === 'remove') expect(await server.snapshots()).toEqual([])
  if (kind === 'import') expect((await server.snapshots()).map(({ name }) => name)).toEqual(['taken'])
  if (kind === 'fork') {
    const { children } = await server.plane.copies.fork(caller, subject, { count: 2 }, call)
    expect(children.map(({ state, parent }) => [state, parent])).toEqual([1, 2].map(() => ['running', subject]))
    for (const { id } of children) expect(await server.run(id, 'cat /tmp/kept /data/kept')).toBe('kept\nkept\n')
    const owners = (await server.volumes()).map(({ sandbox, lifetime }) => `${lifetime} ${sandbox}`)
    expect(owners.toSorted()).toEqual([`durable ${subject}`, ...children.map(({ id }) => `sandbox ${id}`)].toSorted())
    expect(Object.keys(await server.states()).length).toBe(4)
  }
  if (kind === 'volume') {
    const { id, name } = await server.plane.volumes.create(caller, { name: 'made' }, call)
    expect(new Set((await server.volumes()).map((volume) => volume.name))).toEqual(new Set(['data', 'made']))
    expect(await server.plane.volumes.get(caller, 'made')).toMatchObject({ id, name })
  }
  if (kind === 'unvolume') expect((await server.volumes()).map(({ name }) => name)).toEqual(['data'])
  if (kind === 'merge') expect(await server.run(subject, 'cat /tmp/made')).toBe('made\n')
}
