import { Hearth, type EmbeddedSandbox, type ProcessEvent } from '@hearth/engine'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ladder, templateFor } from './support/ladder.ts'

const hearth = new Hearth()
afterAll(async () => await hearth.dispose(), 120_000)

/** What a guest tells at the most. */
const PROGRAMS_AT_ONCE = 1000
const PROGRAMS_PER_SECOND = 100

/** Fills the limit of processes, and starts programs without end; each is noted first. Those that are as many as may be rest a little. */
const BOMB = `$SIG{CHLD} = 'IGNORE'; open F, '>>', '/tmp/started';
while (1) { my $pid = fork(); if (!defined $pid) { select undef, undef, undef, 0.1 }
elsif (!$pid && rand() < 0.8) { syswrite F, '.'; exec '/bin/true' } }`
const PROCESSES = 100

type Executed = Extract<ProcessEvent, { kind: 'executed' }>

/** What is heard of a sandbox, as it comes. */
class Heard {
  readonly events: ProcessEvent[] = []
  readonly ended: Promise<unknown>

  private constructor(watch: AsyncIterable<ProcessEvent>) {
    this.ended = this.#read(watch).catch((error: unknown) => error)
  }

  static async begin(sandbox: EmbeddedSandbox): Promise<Heard> {
    return new Heard(await sandbox.watchProcesses())
  }

  async #read(watch: AsyncIterable<ProcessEvent>): Promise<void> {
    for await (const event of watch) this.events.push(event)
  }

  /** The program with this last argument. */
  async program(last: string): Promise<Executed> {
    const find = (): Executed | undefined =>
      this.events.find((event): event is Executed => event.kind === 'executed' && event.argv.at(-1) === last)
    return (await vi.waitUntil(find, { timeout: 30_000 })) as Executed
  }

  async endOf(pid: number): Promise<ProcessEvent> {
    const find = (): ProcessEvent | undefined =>
      this.events.findLast((event) => event.kind === 'ended' && event.pid === pid)
    return (await vi.waitUntil(find, { timeout: 30_000 })) as ProcessEvent
  }
}

for (const { rung, probe } of await ladder(hearth)) {
  describe(rung, () => {
    if (!probe.available) return test('processes', (context) => context.skip(probe.reason))
    const { processRecord, memory } = probe.capabilities
    if (!processRecord) {
      return test('that cannot tell which processes are started refuses to', { timeout: 120_000 }, async () => {
        await using sandbox = await hearth.create({ rung, template: templateFor(probe) })
        await expect(sandbox.watchProcesses()).rejects.toMatchObject({ code: 'capability_unsupported' })
      })
    }
    let sandbox: EmbeddedSandbox
    let heard: Heard
    beforeAll(async () => {
      sandbox = await hearth.create({ rung, template: templateFor(probe) })
      heard = await Heard.begin(sandbox)
    }, 120_000)
    afterAll(async () => await sandbox.kill())

    test('programs have their arguments, parent, command and end', async () => {
      const process = await sandbox.spawn(
        `/bin/echo 'one two' first; (sleep 0.1; exit 3); sh -c 'kill -9 $$' killed; exit 5`,
      )
      await process.wait()
      const echo = await heard.program('first')
      expect(echo).toMatchObject({
        argv: ['/bin/echo', 'one two', 'first'],
        process: process.id,
        parent: process.pid,
        seen: 'whole',
      })
      expect(await heard.endOf(echo.pid)).toMatchObject({ exitCode: 0, signal: null, process: process.id })
      const killed = await heard.program('killed')
      expect(await heard.endOf(killed.pid)).toMatchObject({ exitCode: null, signal: 'SIGKILL' })
      expect(await heard.endOf(process.pid)).toMatchObject({ exitCode: 5, durationMs: expect.any(Number) })
    })

    test('what has left the session, and whose parent is gone, is still of its command', async () => {
      const process = await sandbox.spawn(`setsid sh -c 'sh -c "sleep 0.3; /bin/echo detached" & exit' & exit`)
      await process.wait()
      expect(await heard.program('detached')).toMatchObject({ process: process.id })
    })

    test('arguments are cut and cleaned', async () => {
      await sandbox.exec(['/bin/true', '\u001b[2Jstrange', 'x'.repeat(3000), 'y'.repeat(3000)])
      const find = (): ProcessEvent | undefined =>
        heard.events.find((event) => event.kind === 'executed' && event.argv[1]?.endsWith('strange') === true)
      await expect.poll(find, { timeout: 30_000 }).toMatchObject({ seen: 'cut' })
      const { argv } = find() as Executed
      expect(argv[1]).toBe('\u{fffd}[2Jstrange')
      expect(argv.join('').length).toBeLessThanOrEqual(4096)
    })

    test(
      'what is not told of many short ones is counted, and the command is none the worse',
      { timeout: 240_000 },
      async () => {
        const from = heard.events.length
        const { exitCode } = await sandbox.exec(
          `i=0; while [ $i -lt 400 ]; do /bin/true short; i=$((i+1)); done; /bin/true all`,
        )
        expect(exitCode).toBe(0)
        await heard.program('all')
        const since = heard.events.slice(from)
        const told = since.filter(({ kind }) => kind === 'executed').length
        const missed = since.reduce((sum, event) => sum + (event.kind === 'missed' ? event.count : 0), 0)
        expect(told + missed).toBeGreaterThanOrEqual(401)
      },
    )

    test('a fork bomb is told of within bounds, and what comes after it is heard', { timeout: 240_000 }, async () => {
      const template = templateFor(probe)
      await using other = await hearth.create({ rung, template, limits: { pids: PROCESSES } })
      const its = await Heard.begin(other)
      const started = performance.now()
      const bomb = await other.exec(['perl', '-e', BOMB], { timeoutMs: 8000, maxOutputBytes: 1000 })
      expect(bomb.timedOut || bomb.exitCode !== 0).toBe(true)
      const { stdout } = await other.exec('stat -c %s /tmp/started', { timeoutMs: 60_000 })
      expect(Number(stdout)).toBeGreaterThan(0)
      // Some may have been killed between their note and their program.
      const least = Number(stdout) - PROCESSES
      const seconds = (performance.now() - started) / 1000
      const count = (): { told: number; missed: number } => ({
        told: its.events.filter(({ kind }) => kind === 'executed').length,
        missed: its.events.reduce((sum, event) => sum + (event.kind === 'missed' ? event.count : 0), 0),
      })
      await expect.poll(() => count().told + count().missed, { timeout: 30_000 }).toBeGreaterThanOrEqual(least)
      expect(count().told).toBeLessThanOrEqual(PROGRAMS_AT_ONCE + PROGRAMS_PER_SECOND * seconds)
      // When there is room again the next one is told of.
      await expect
        .poll(
          async () => {
            await other.exec(['/bin/echo', 'later'], { timeoutMs: 60_000 })
            return its.events.some((event) => event.kind === 'executed' && event.argv.at(-1) === 'later')
          },
          { timeout: 60_000, interval: 1000 },
        )
        .toBe(true)
    })

    test.skipIf(!memory)(
      'a copy with its processes is heard on its own, and its parent goes on',
      { timeout: 240_000 },
      async () => {
        const process = await sandbox.spawn('while :; do sleep 1; done')
        const { children } = await sandbox.fork(1, { memory: 'required' })
        const [child] = children
        if (child === undefined) throw new Error('no child')
        await using copy = child
        const other = await Heard.begin(copy)
        await Promise.all([copy.exec(['/bin/echo', 'in the child']), sandbox.exec(['/bin/echo', 'in the parent'])])
        expect(await other.program('in the child')).toMatchObject({ process: expect.any(Number) })
        expect(await heard.program('in the parent')).toMatchObject({ process: expect.any(Number) })
        await process.kill()
      },
    )

    test('with its sandbox it just ends', async () => {
      const other = await hearth.create({ rung, template: templateFor(probe) })
      const its = await Heard.begin(other)
      await other.kill()
      expect(await its.ended).toBeUndefined()
    })

    test.skipIf(rung !== 'microvm')('who kills the witness is noticed', async () => {
      await using other = await hearth.create({ rung, template: templateFor(probe) })
      const its = await Heard.begin(other)
      // Nobody else is a child of the guest that runs ahead of all others.
      await other.exec(
        `for p in /proc/[0-9]*; do set -- $(cat $p/stat); [ "$4" = 1 ] && [ "\${41}" = 1 ] && kill -9 $1; done`,
        { user: 'root' },
      )
      expect(await its.ended).toMatchObject({ name: 'HearthError' })
    })
  })
}
