import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SnapshotId } from '@hearth/contract'
import { expect, test } from 'vitest'
import { NEVER, TestHome, type TestServer } from '../packages/server/src/lifecycle/test-server.ts'
import { eventuallyEqual, takeInventory } from './support/inventory.ts'
import { LoadModel } from './support/load-model.ts'
import { seededRandom } from './support/seeded-random.ts'

const ROUNDS = Number(process.env['HEARTH_CRASH_ROUNDS'] ?? 12)
const SEED = Number(process.env['HEARTH_CRASH_SEED'] ?? 20_260_101)
const GRACE_MS = 1000
/** As the load asks: a repeated call is the same call. */
const REQUEST = { ttlMs: 600_000, limits: { memoryBytes: 64 * 1024 ** 2 } }
const SHORT_MS = 1000

interface Life {
  readonly seed: number
  readonly lifeMs: number
  readonly pool: 'on' | 'off'
}

/** Lets a server work until it is killed at a random instant. */
async function runAndKill(
  home: TestHome,
  model: LoadModel,
  { seed, lifeMs, pool }: Life,
  alone: string,
): Promise<void> {
  const script = join(import.meta.dirname, 'support/server-load.ts')
  const words = [home.path, String(seed), pool, alone]
  const victim = spawn(process.execPath, [script, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = new Promise<string | null>((resolve) => victim.once('exit', (_code, signal) => resolve(signal)))
  let heard = 0
  for await (const line of createInterface(victim.stdout)) {
    heard++
    if (line === 'ready') setTimeout(() => victim.kill('SIGKILL'), lifeMs)
    else model.hear(line)
  }
  expect(model.problem).toBeNull()
  expect([await exited, heard > 0]).toEqual(['SIGKILL', true])
}

/** Who was not answered asks again with the same key, and gets what was made, or has it made now. */
async function askAgain(server: TestServer, model: LoadModel): Promise<void> {
  const caller = await server.caller()
  for (const [idempotencyKey, { kind, of }] of model.pending) {
    const call = { idempotencyKey, signal: NEVER }
    if (kind === 'create') model.given.set((await server.create(REQUEST, idempotencyKey)).id, null)
    else if (kind === 'short') model.short.add((await server.create({ ttlMs: SHORT_MS }, idempotencyKey)).id)
    else if (kind === 'snapshot') model.snapshots.add((await server.plane.copies.snapshot(caller, of, {}, call)).id)
    else
      for (const { id } of (await server.plane.copies.fork(caller, of, { count: 1 }, call)).children)
        model.forked(of, id)
  }
  model.pending.clear()
}

/** A deadline that came while nobody was there has ended its sandbox, and so does one that comes later. */
async function checkDeadlines(server: TestServer, model: LoadModel): Promise<void> {
  const caller = await server.caller()
  for (const id of model.short) {
    const ended = { state: 'stopped', reason: 'expired' }
    await expect.poll(() => server.plane.get(caller, id), { timeout: 10_000 }).toMatchObject(ended)
    await server.plane.delete(caller, id)
  }
  model.short.clear()
}

/** Nothing is lost, doubled or orphaned, and what was under way is finished or undone. */
async function check(home: TestHome, server: TestServer, model: LoadModel, counter: Counter): Promise<void> {
  await server.plane.recovered
  expect(server.problems).toEqual([])
  const { tenantId } = await server.caller()
  for (const id of model.given.keys()) {
    expect(await server.store.events.verify(tenantId, id)).toMatchObject({ valid: true, problem: null })
  }
  await askAgain(server, model)
  await checkDeadlines(server, model)
  const states = await server.states()
  const taken = (await server.snapshots()).map(({ id }) => id).toSorted()
  for (const id of model.deleting) if (states[id] === undefined && !taken.includes(id as SnapshotId)) model.forget(id)
  model.deleting.clear()
  const alive = Object.keys(states).toSorted()
  expect(alive).toEqual([...model.given.keys(), counter.sandbox].toSorted())
  expect(taken).toEqual([...model.snapshots].toSorted())
  const asleep = alive.filter((id) => states[id] === 'hibernated')
  const runs = (id: string): boolean => !asleep.includes(id)
  expect(alive.filter(runs).filter((id) => states[id] !== 'running' && states[id] !== 'paused')).toEqual([])
  expect([await home.keepers(), await home.directories()]).toEqual([alive.filter(runs), alive])
  expect(existsSync(join(home.path, 'pool')) ? readdirSync(join(home.path, 'pool')) : []).toEqual([])
  await checkFiles(server, model)
  await checkCounter(server, counter)
}

async function checkFiles(server: TestServer, model: LoadModel): Promise<void> {
  for (const [id, text] of model.given) {
    const [said = '', ...merged] = (
      await server.run(id, 'cd /tmp; for f in key merged-a merged-b; do cat $f 2>/dev/null || echo; done')
    ).split('\n')
    if (text !== null) expect(said).toBe(text)
    const last = model.merged.get(id)
    const found = merged.slice(0, 2)
    if (last === undefined) continue
    const may = last.answered ? [last.text] : [last.text, last.before ?? '']
    expect(may.map((both) => [both, both])).toContainEqual(found)
    if (found[0] === '') model.merged.delete(id)
    else model.merged.set(id, { text: found[0] ?? '', answered: true, before: null })
  }
}

/** A command that goes on through all deaths of its server. */
interface Counter {
  readonly sandbox: string
  readonly process: number
  /** The last number that was read. */
  seen: number
}

async function startCounter(server: TestServer): Promise<Counter> {
  const { id } = await server.create({ ttlMs: 3_600_000 })
  using use = await server.plane.use(await server.caller(), id)
  const counting = await use.sandbox.spawn('i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done')
  return { sandbox: id, process: counting.id, seen: 0 }
}

/** Its output is whole from the beginning, and has grown. */
async function checkCounter(server: TestServer, counter: Counter): Promise<void> {
  using use = await server.plane.use(await server.caller(), counter.sandbox)
  const counting = await use.sandbox.attach(counter.process, { offset: 0 })
  let text = ''
  for await (const { data } of counting.output) {
    text += Buffer.from(data).toString()
    if (text.split('\n').length - 1 > counter.seen + 1) break
  }
  const numbers = text.split('\n').slice(0, -1).map(Number)
  expect(numbers).toEqual(numbers.map((_, index) => index + 1))
  expect(numbers.length).toBeGreaterThan(counter.seen)
  counter.seen = numbers.length
}

test(
  `a server killed ${ROUNDS} times under load loses, doubles and orphans nothing`,
  { timeout: ROUNDS * 20_000 },
  async () => {
    await using home = await TestHome.make()
    const random = seededRandom(SEED)
    const model = new LoadModel()
    const first = await home.start()
    await first.plane.delete(await first.caller(), (await first.create()).id)
    await first.plane.close()
    const before = takeInventory(home.path)
    const beginning = await home.start()
    const counter = await startCounter(beginning)
    await beginning.plane.close()
    for (let round = 0; round < ROUNDS; round++) {
      const pool = round % 2 === 0 ? 'off' : 'on'
      const life = { seed: SEED + round, lifeMs: 20 + Math.floor(random() * 800), pool } as const
      await runAndKill(home, model, life, counter.sandbox)
      const server = await home.start()
      try {
        await check(home, server, model, counter)
      } finally {
        await server.plane.close()
      }
    }
    const server = await home.start({ housekeeping: { graceMs: GRACE_MS } })
    await server.plane.recovered
    const caller = await server.caller()
    for (const id of [...model.given.keys(), counter.sandbox]) await server.plane.delete(caller, id)
    for (const id of model.snapshots) await server.plane.snapshots.remove(caller, id)
    await sleep(2 * GRACE_MS)
    await server.plane.reconcile()
    await server.plane.close()
    await eventuallyEqual(() => takeInventory(home.path), before)
  },
)
