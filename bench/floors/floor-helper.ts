import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { FloorRun } from './measure-run.ts'

/**
 * Measures floors in a fresh process of Node: starting a child costs more the more memory the parent has, and this one
 * has held a hundred megabytes. As root the helper also hides the second version of cgroups: crun refuses to start
 * where it sees both. It lives for the whole measurement, so that no sample pays for it.
 */
export class FloorHelper implements Disposable {
  readonly #helper: ChildProcessByStdio<Writable, Readable, null>
  readonly #answers: AsyncIterator<string>

  constructor() {
    const runner = join(import.meta.dirname, 'floor-runner.ts')
    const hide = 'umount -l /sys/fs/cgroup/unified 2>/dev/null; exec "$0" "$1"'
    const unshare = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', hide]
    const argv = [...(process.getuid?.() === 0 ? unshare : []), process.execPath, runner]
    this.#helper = spawn(argv[0] ?? '', argv.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#answers = createInterface(this.#helper.stdout)[Symbol.asyncIterator]()
  }

  async measure(run: FloorRun): Promise<number> {
    this.#helper.stdin.write(`${JSON.stringify(run)}\n`)
    const line = await this.#answers.next()
    if (line.done === true) throw new Error('the helper for floors has ended')
    const answer = JSON.parse(line.value) as { milliseconds?: number; problem?: string }
    if (answer.milliseconds === undefined) throw new Error(answer.problem ?? 'no answer')
    return answer.milliseconds
  }

  /** A plain child of Node, from spawn to its end. */
  async plainSpawn(): Promise<number> {
    return await this.measure({ argv: ['/bin/true'], until: 'end' })
  }

  [Symbol.dispose](): void {
    this.#helper.stdin.end()
  }
}
