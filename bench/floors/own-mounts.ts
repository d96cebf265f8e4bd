import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

/**
 * Runs floors where the second version of cgroups is not mounted: crun refuses to start where it sees both. One helper
 * lives for the whole measurement, so that no sample pays for the mount namespace.
 */
export class OwnMounts implements Disposable {
  readonly #helper: ChildProcessByStdio<Writable, Readable, null>
  readonly #answers: AsyncIterator<string>

  constructor() {
    const script = 'umount -l /sys/fs/cgroup/unified 2>/dev/null; exec "$0" "$1"'
    const runner = join(import.meta.dirname, 'floor-runner.ts')
    const parameters = ['--mount', '--propagation', 'private', 'sh', '-c', script, process.execPath, runner]
    this.#helper = spawn('unshare', parameters, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#answers = createInterface(this.#helper.stdout)[Symbol.asyncIterator]()
  }

  async firstOutput(argv: readonly string[]): Promise<number> {
    this.#helper.stdin.write(`${JSON.stringify(argv)}\n`)
    const line = await this.#answers.next()
    if (line.done === true) throw new Error('the helper for floors has ended')
    const answer = JSON.parse(line.value) as { milliseconds?: number; problem?: string }
    if (answer.milliseconds === undefined) throw new Error(answer.problem ?? 'no answer')
    return answer.milliseconds
  }

  [Symbol.dispose](): void {
    this.#helper.stdin.end()
  }
}
