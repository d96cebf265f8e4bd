import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { TestHome, type TestServer } from '../packages/server/src/lifecycle/test-server.ts'
import { eventuallyEqual, takeInventory } from './support/inventory.ts'
import { seededRandom } from './support/seeded-random.ts'

const ROUNDS = Number(process.env['HEARTH_CRASH_ROUNDS'] ?? 12)
const SEED = Number(process.env['HEARTH_CRASH_SEED'] ?? 20_260_101)
const GRACE_MS = 1000

/** What the clients of the killed servers know. */
class Model {
  /** Sandboxes that somebody was given, with the text that was written into them. */
  readonly given = new Map<string, string | null>()
  /** Creates that were not answered. */
  readonly pending = new Set<string>()
  /** Deletes that were not answered. */
  readonly deleting = new Set<string>()

  hear(line: string): void {
    const [phase, kind, name = '', id = ''] = line.split(' ')
    if (kind === 'create' && phase === 'begin') this.pending.add(name)
    if (kind === 'create' && phase === 'end') {
      this.pending.delete(name)
      this.given.set(id, null)
    }
    if (kind === 'mark') this.given.set(id, name)
    if (kind === 'delete' && phase === 'begin') this.deleting.add(name)
    if (kind === 'delete' && phase === 'end') {
      this.deleting.delete(name)
      this.given.delete(name)
    }
  }
}

/** Lets a server work until it is killed at a random instant. */
async function runAndKill(home: TestHome, model: Model, seed: number, lifeMs: number): Promise<void> {
  const script = join(import.meta.dirname, 'support/server-load.ts')
  const victim = spawn(process.execPath, [script, home.path, String(seed)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = new Promise<string | null>((resolve) => victim.once('exit', (_code, signal) => resolve(signal)))
  let heard = 0
  for await (const line of createInterface(victim.stdout)) {
    heard++
    if (line === 'ready') setTimeout(() => victim.kill('SIGKILL'), lifeMs)
    else model.hear(line)
  }
  expect([await exited, heard > 0]).toEqual(['SIGKILL', true])
}

/** Nothing is lost, doubled or orphaned, and what was under way is finished or undone. */
async function check(home: TestHome, server: TestServer, model: Model): Promise<void> {
  await server.plane.recovered
  expect(server.problems).toEqual([])
  const { tenantId } = await server.caller()
  for (const id of model.given.keys()) {
    expect(await server.store.events.verify(tenantId, id)).toMatchObject({ valid: true, problem: null })
  }
  for (const key of model.pending) {
    const { id } = await server.create({ ttlMs: 600_000, limits: { memoryBytes: 64 * 1024 ** 2 } }, key)
    model.given.set(id, null)
  }
  model.pending.clear()
  const states = await server.states()
  expect(Object.values(states).filter((state) => state !== 'running' && state !== 'paused')).toEqual([])
  const alive = Object.keys(states).toSorted()
  for (const id of model.deleting) if (states[id] === undefined) model.given.delete(id)
  model.deleting.clear()
  expect(alive).toEqual([...model.given.keys()].toSorted())
  expect([await home.keepers(), await home.directories()]).toEqual([alive, alive])
  for (const [id, text] of model.given) {
    const said = await server.run(id, 'cat /tmp/key 2>/dev/null || true')
    if (text !== null) expect(said).toBe(`${text}\n`)
  }
}

test(
  `a server killed ${ROUNDS} times under load loses, doubles and orphans nothing`,
  { timeout: ROUNDS * 20_000 },
  async () => {
    await using home = await TestHome.make()
    const random = seededRandom(SEED)
    const model = new Model()
    const first = await home.start()
    await first.plane.delete(await first.caller(), (await first.create()).id)
    await first.plane.close()
    const before = takeInventory(home.path)
    for (let round = 0; round < ROUNDS; round++) {
      await runAndKill(home, model, SEED + round, 20 + Math.floor(random() * 800))
      const server = await home.start()
      try {
        await check(home, server, model)
      } finally {
        await server.plane.close()
      }
    }
    const server = await home.start({ housekeeping: { graceMs: GRACE_MS } })
    await server.plane.recovered
    for (const id of model.given.keys()) await server.plane.delete(await server.caller(), id)
    await sleep(2 * GRACE_MS)
    await server.plane.reconcile()
    await server.plane.close()
    await eventuallyEqual(() => takeInventory(home.path), before)
  },
)
