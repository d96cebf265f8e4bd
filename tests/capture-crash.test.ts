import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Rung } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { expectRefusal } from '@hearth/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { collectBaked } from '../packages/engine/src/drivers/microvm/baked-store.ts'
import { ladder } from './support/ladder.ts'
import { list } from './support/small-store.ts'

const hearth = new Hearth({ spareKeepers: 0 })
const { paths } = hearth
const steps = await ladder(hearth)
const able = steps.flatMap(({ rung, probe }) => (probe.available && probe.capabilities.memory ? [rung] : []))
afterAll(() => hearth.dispose())

/** Processes that were told of a path. */
function namedBy(path: string): string[] {
  return list('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(path)
    } catch {
      return false
    }
  })
}

/** One that has ended and that nobody has asked for how does not. */
function runs(pid: string): boolean {
  const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'latin1') : ') Z'
  return !stat.slice(stat.lastIndexOf(')')).startsWith(') Z')
}

async function until(what: string, holds: () => boolean): Promise<void> {
  for (let waited = 0; !holds(); waited += 2) {
    if (waited > 60_000) throw new Error(`it never came to be that ${what}`)
    await sleep(2)
  }
}

class Victim implements AsyncDisposable {
  readonly process: ChildProcess
  readonly lines: AsyncIterator<string>
  readonly #exited: Promise<unknown>

  constructor(...words: string[]) {
    const program = join(import.meta.dirname, 'support/capture-victim.ts')
    this.process = spawn(process.execPath, [program, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#exited = new Promise((resolve) => this.process.once('exit', resolve))
    if (this.process.stdout === null) throw new Error('it has no output')
    this.lines = createInterface(this.process.stdout)[Symbol.asyncIterator]()
  }

  /** The snapshot that it is working on. */
  draft(): string | undefined {
    const mine = new RegExp(`^${this.process.pid} `)
    return list(join(paths.store, 'snapshots'))
      .map((id) => join(paths.store, 'snapshots', id))
      .find((path) => existsSync(join(path, 'draft')) && mine.test(readFileSync(join(path, 'draft'), 'utf8')))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.process.kill('SIGKILL')
    await this.#exited
  }
}

interface Moment {
  readonly rung: Rung
  readonly what: 'snapshot' | 'hibernate'
  readonly when: string
  readonly isThere: (sandbox: string, draft: string) => boolean
}

const isStill = (sandbox: string): boolean => existsSync(join(paths.sandboxes, sandbox, 'capturing'))
const isWritten = (_: string, draft: string): boolean => list(join(draft, 'memory')).length > 0
/** One that falls asleep is stopped before, runs for its capture, and is stopped for good. */
const isStopped = (sandbox: string): boolean => existsSync(join(paths.sandboxes, sandbox, 'paused'))

/** What can be seen of a capture from outside. */
const MOMENTS: readonly Moment[] = [
  { rung: 'microvm', what: 'snapshot', when: 'it stands still', isThere: isStill },
  { rung: 'gvisor', what: 'snapshot', when: 'its memory is being written', isThere: isWritten },
  { rung: 'microvm', what: 'hibernate', when: 'it stands still', isThere: isStill },
  {
    rung: 'microvm',
    what: 'hibernate',
    when: 'it is stopped for good',
    isThere: (sandbox) => isStill(sandbox) && isStopped(sandbox),
  },
  {
    rung: 'gvisor',
    what: 'hibernate',
    when: 'it is stopped for good',
    isThere: (sandbox, draft) => isWritten(sandbox, draft) && isStopped(sandbox),
  },
]

describe.each(MOMENTS.filter(({ rung }) => able.includes(rung)))(
  'kill -9 of the engine in a $what of $rung, when $when',
  ({ rung, what, isThere }) => {
    test('leaves the sandbox as it was, and nothing that could be restored', async () => {
      const victim = new Victim(what, rung)
      const id = String((await victim.lines.next()).value)
      let draft = ''
      try {
        await until('it is capturing', () => isThere(id, (draft ||= victim.draft() ?? '')))
        draft ||= victim.draft() ?? ''
      } finally {
        await victim[Symbol.asyncDispose]()
      }
      expect(draft).not.toBe('')
      await expectRefusal(hearth.create({ from: `victim-${victim.process.pid}` }), 'snapshot_not_found')
      if (what === 'snapshot') expect(existsSync(join(draft, 'manifest.json'))).toBe(false)
      // One that was stopped for good may have fallen asleep before it was seen.
      const sleeps = (await hearth.survey()).find((found) => found.id === id)?.alive === false
      await using parent = sleeps ? await hearth.wake(id) : await hearth.adopt(id)
      expect((await parent.exec('cat /tmp/kept; wc -c < /dev/shm/much')).stdout).toBe('kept\n60000000\n')
      await hearth.sweep()
      await until('the draft is gone', () => !existsSync(draft))
      await until('its helpers are gone', () => namedBy(draft).length === 0)
      const taken = await parent.snapshot({ memory: 'required' })
      await hearth.snapshots.remove(taken.id)
    })
  },
)

describe.runIf(able.includes('microvm'))('kill -9 of the engine while a machine is booted for others', () => {
  test('leaves neither the machine nor a part of it', async () => {
    // Of an odd size, so that nobody has it yet.
    const victim = new Victim('bake', String((300 + (process.pid % 97)) * 1024 * 1024))
    const mine = (directory: string, note: string, word: RegExp): string | undefined =>
      list(directory)
        .map((name) => join(directory, name))
        .find((path) => existsSync(join(path, note)) && word.test(readFileSync(join(path, note), 'utf8')))
    const { pid } = victim.process
    const trial = (): string => mine(paths.cache, 'owner', new RegExp(`^${pid} `)) ?? ''
    const draft = (): string => mine(join(paths.store, 'baked'), 'origin', new RegExp(`"pid":${pid},`)) ?? ''
    try {
      await until('the machine boots', () => draft() !== '' && existsSync(join(trial(), 'keeper.pid')))
    } finally {
      await victim[Symbol.asyncDispose]()
    }
    const [keeper = ''] = readFileSync(join(trial(), 'keeper.pid'), 'utf8').split(' ')
    await hearth.sweep()
    expect(trial()).toBe('')
    expect(runs(keeper)).toBe(false)
    expect(draft()).toMatch(/\.[0-9a-f]+$/)
    await collectBaked(paths.store, 100)
    expect(draft()).toBe('')
  })
})
