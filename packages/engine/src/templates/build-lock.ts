import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { ClaimFile } from '../host/claim-file.ts'

const POLL_MS = 100

/** A lock between processes that a crash cannot leave locked. */
export class BuildLock implements AsyncDisposable {
  readonly #claim: ClaimFile

  private constructor(claim: ClaimFile) {
    this.#claim = claim
  }

  static async acquire(directory: string, name: string, signal: AbortSignal, waiting: () => void): Promise<BuildLock> {
    const own = await processIdentity(process.pid)
    for (let attempt = 0; ; attempt++) {
      signal.throwIfAborted()
      const claim = await ClaimFile.take(directory, name, own, ownerLives)
      if (claim !== null) return new BuildLock(claim)
      if (attempt === 0) waiting()
      await sleep(POLL_MS, undefined, { signal })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#claim.release()
  }
}

/** A process id alone can be reused; with the boot and the start time it cannot. */
async function processIdentity(pid: number): Promise<string> {
  const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
  const status = await readFile(`/proc/${pid}/stat`, 'utf8')
  // The name in parentheses may hold anything; the start time is the 20th field after it.
  const started = status.slice(status.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  return `${pid} ${started} ${boot}`
}

async function ownerLives(owner: string): Promise<boolean> {
  const pid = Number(owner.split(' ')[0])
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  return owner === (await processIdentity(pid).catch(absent))
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ESRCH') return null
  throw error
}
