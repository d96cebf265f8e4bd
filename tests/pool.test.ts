import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { newSandboxId } from '@hearth/contract'
import { ensureStore, Hearth, removeStore, type EmbeddedSandbox } from '@hearth/engine'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { shareProbes } from '../packages/server/src/lifecycle/shared-probes.ts'
import { describeEachRung, templateFor, type AvailableStep } from './support/ladder.ts'

vi.stubEnv('HEARTH_POOL', '')
const hearth = new Hearth({ pool: { perShape: 2, quietMs: 0 } })

/** With an authority, which is made for the sandbox and not for the machine that waits. */
const POLICY = { allow: [{ name: 'allowed.test', methods: ['GET' as const] }] }

/** Two that come from the pool, and how they were asked for. */
async function claimTwo(step: AvailableStep): Promise<[EmbeddedSandbox, EmbeddedSandbox]> {
  const spec = { rung: step.rung, template: templateFor(step.probe), limits: { pids: 40 } }
  await Promise.all([1, 2].map(async () => await (await hearth.create(spec)).kill()))
  await hearth.pool.fill()
  const { claimed } = hearth.pool.report()
  const own = { workdir: '/srv/own', hostname: 'of-my-own', ttlMs: 90_000, metadata: { a: 'b' }, policy: POLICY }
  const user = step.probe.capabilities.users ? { user: 'root' } : {}
  const made = await Promise.all([
    hearth.create({ ...spec, ...own, ...user, env: { WHO: 'first' } }, { id: newSandboxId() }),
    hearth.create({ ...spec, env: { WHO: 'second' } }),
  ])
  expect(hearth.pool.report().claimed).toBe(claimed + 2)
  return made
}

const LOOK = 'hostname; echo "$WHO"; pwd; id -u; date +%s'
const NAMES = 'getent hosts allowed.test >/dev/null && echo reached || echo unknown'
const RANDOM = 'head -c 16 /dev/urandom | od -An -tx1'

await describeEachRung(hearth, (step) => {
  if (step.rung === 'simulated') return
  describe(`sandboxes of the pool on ${step.rung}`, () => {
    let first: EmbeddedSandbox
    let second: EmbeddedSandbox
    beforeAll(async () => {
      ;[first, second] = await claimTwo(step)
    })
    afterAll(async () => await Promise.all([first.kill(), second.kill()]))

    test('are what was asked for, each for itself', async () => {
      const [one, other] = await Promise.all(
        [first, second].map(async (sandbox) =>
          (await sandbox.exec(`${LOOK}; ${RANDOM}; ${NAMES}`)).stdout.trim().split('\n'),
        ),
      )
      const users = step.probe.capabilities.users
      expect(one?.slice(0, 3)).toEqual(['of-my-own', 'first', '/srv/own'])
      expect(other?.slice(0, 2)).toEqual([second.id.replace('_', '-'), 'second'])
      if (users) expect([one?.[3], other?.[3]]).toEqual(['0', '1000'])
      for (const said of [one, other]) expect(Math.abs(Number(said?.[4]) * 1000 - Date.now())).toBeLessThan(30_000)
      expect(one?.[5]).not.toBe(other?.[5])
      expect([one?.[6], other?.[6]]).toEqual(['reached', 'unknown'])
      expect(first.info).toMatchObject({ metadata: { a: 'b' }, limits: { pids: 40 }, origin: null, parent: null })
      const lifetime = first.info.expiresAt.getTime() - first.info.createdAt.getTime()
      expect(Math.abs(lifetime - 90_000)).toBeLessThan(10_000)
    })

    test('have their limits', async () => {
      const some = 'for i in $(seq 10); do sleep 0.1 & done; wait'
      expect(await second.exec(some, { timeoutMs: 60_000 })).toMatchObject({ exitCode: 0, stderr: '' })
      const many = 'for i in $(seq 120); do sleep 2 & done; wait'
      const { exitCode, stderr } = await second.exec(many, { timeoutMs: 60_000 })
      expect(exitCode).not.toBe(0)
      expect(stderr).toMatch(/fork/i)
    })

    test('can be adopted, captured and ended like all others', async () => {
      const { id } = first
      await first.files.write('/srv/own/kept', 'kept')
      await first.release()
      first = await hearth.adopt(id)
      expect((await first.exec('cat /srv/own/kept; echo $WHO')).stdout).toBe('keptfirst\n')
      const { children } = await first.fork(1, { memory: 'none' })
      expect(await children[0]?.files.readText('/srv/own/kept')).toBe('kept')
      await Promise.all(children.map((child) => child.kill()))
      await first.kill()
      expect((await hearth.survey()).some((entry) => entry.id === id)).toBe(false)
      expect(existsSync(join(hearth.paths.store, 'areas', id))).toBe(false)
    })
  })
})

/** What is left of a home that nobody uses any more. */
function left(home: string): Record<string, string[]> {
  const names = ['pool', 'sandboxes', 'store/areas', 'ids']
  return Object.fromEntries(
    names.map((name) => [name, existsSync(join(home, name)) ? readdirSync(join(home, name)) : []]),
  )
}

const NOTHING = { pool: [], sandboxes: [], 'store/areas': [], ids: [] }
const RENAMES = 4

/** What is moved from the pool to a sandbox is more where a kernel of its own waits. */
const claimed = (await hearth.rungs())
  .filter(({ rung, probe }) => probe.available && (rung === 'process' || rung === 'gvisor'))
  .map(({ rung }) => rung)

describe.skipIf(process.getuid?.() !== 0).each(claimed)(
  'kill -9 of a process with machines of %s that wait',
  (rung) => {
    const home = mkdtempSync(join(tmpdir(), 'hearth-pool-crash-'))

    beforeAll(async () => {
      await shareProbes(home)
      await using engine = new Hearth({ home, spareKeepers: 0, pool: false })
      await ensureStore(engine.paths, { ...process.env, HEARTH_STORE_SIZE: '512M' })
      await (await engine.create({ rung, template: 'host' })).kill()
    })
    afterAll(async () => {
      await removeStore(new Hearth({ home }).paths)
      rmSync(home, { recursive: true, force: true })
    })

    /** One that is dead, before this rename of a claim or after the whole; the sandbox that it had said it made. */
    async function victim(killedBefore: number): Promise<string | null> {
      const program = join(import.meta.dirname, 'support/pool-victim.ts')
      const environment = { ...process.env, HEARTH_HOME: home, HEARTH_POOL: '' }
      const child = spawn(process.execPath, [program, rung, String(killedBefore)], {
        env: environment,
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      const exited = once(child, 'exit')
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
      expect((await lines.next()).value).toBe('2')
      child.stdin.write('now\n')
      const made = (await lines.next()) as IteratorResult<string, undefined>
      child.kill('SIGKILL')
      await exited
      return made.done === true ? null : made.value
    }

    test('the next engine ends them at once, and finds the claimed one', async () => {
      const id = await victim(0)
      await using engine = new Hearth({ home, spareKeepers: 0 })
      expect((await engine.list()).map((info) => info.id)).toEqual([id])
      await using adopted = await engine.adopt(id ?? '')
      expect((await adopted.exec('hostname; echo $KEPT')).stdout).toBe(`${id?.replace('_', '-')}\nyes\n`)
      expect(left(home)).toMatchObject({ pool: [], sandboxes: [id], 'store/areas': [id] })
      await adopted.kill()
      expect(left(home)).toEqual(NOTHING)
    })

    test.each(Array.from({ length: RENAMES }, (_, index) => index + 1))(
      'before rename %i of a claim',
      async (number) => {
        expect(await victim(number)).toBeNull()
        await using engine = new Hearth({ home, spareKeepers: 0 })
        await engine.sweep()
        expect(left(home)).toEqual(NOTHING)
      },
    )

    test('their keepers end them also when no engine comes', async () => {
      await victim(1)
      const keepers = readdirSync(join(home, 'pool')).map((name) =>
        Number.parseInt(readFileSync(join(home, 'pool', name, 'keeper.pid'), 'utf8'), 10),
      )
      expect(keepers).toHaveLength(2)
      await vi.waitFor(() => expect(keepers.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]), 30_000)
    })
  },
)

afterAll(async () => await hearth.dispose(), 120_000)
