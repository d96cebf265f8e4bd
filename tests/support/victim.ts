import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import type { SmallStep } from './small-store.ts'

/** How often a moment that was missed is waited for again. */
const ATTEMPTS = 8

/** Repeats what kills a victim at a moment and looks at what it left, until the moment was met: then it died in it, and not after it. */
export async function untilMet(moment: string, attempt: () => Promise<boolean>): Promise<void> {
  for (let count = 0; count < ATTEMPTS; count++) if (await attempt()) return
  throw new Error(`in ${ATTEMPTS} attempts it was always done before it was seen that ${moment}`)
}

/** A process that does something to a sandbox and is killed in the middle of it. */
export class Victim {
  readonly process: ChildProcess
  readonly #lines: AsyncIterator<string>
  readonly #interface: Interface

  constructor(
    home: string,
    { rung, template }: SmallStep,
    what: 'fork' | 'snapshot' | 'restore' | 'hibernate' | 'wake' | 'gc',
  ) {
    const program = join(import.meta.dirname, 'fork-victim.ts')
    const environment = { ...process.env, HEARTH_HOME: home }
    this.process = spawn(process.execPath, [program, rung, template, what], {
      env: environment,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    if (this.process.stdout === null) throw new Error('it has no output')
    this.#interface = createInterface(this.process.stdout)
    this.#lines = this.#interface[Symbol.asyncIterator]()
  }

  async line(): Promise<string> {
    const next = await this.#lines.next()
    if (next.done === true) throw new Error('it ended')
    return next.value
  }

  /** Kills it at that moment, or when it is done before the moment was seen: then the answer is no. */
  async killAt(seen: () => boolean): Promise<boolean> {
    let done = false
    void this.line().then(
      () => (done = true),
      () => (done = true),
    )
    this.process.stdin?.write('now\n')
    while (!done && !seen()) await new Promise((resolve) => setImmediate(resolve))
    const met = !done
    const exited = new Promise((resolve) => this.process.once('exit', resolve))
    this.process.kill('SIGKILL')
    await exited
    this.#interface.close()
    return met
  }
}
