import { randomBytes } from 'node:crypto'
import { link, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 100

/**
 * A lock between processes that a crash cannot leave locked.
 *
 * The lock NAME is the file NAME.N with the highest N, which holds its owner's identity or nothing when it was released.
 * Whoever finds the owner gone makes NAME.N+1, which only one can do. The highest file is never removed, so the numbers
 * only grow, and a taker that was late finds a higher number than its own and gives way.
 */
export class BuildLock implements AsyncDisposable {
  readonly #path: string

  private constructor(path: string) {
    this.#path = path
  }

  static async acquire(directory: string, name: string, signal: AbortSignal, waiting: () => void): Promise<BuildLock> {
    await mkdir(directory, { recursive: true })
    for (let attempt = 0; ; attempt++) {
      signal.throwIfAborted()
      const taken = await BuildLock.#try(directory, name)
      if (taken !== null) return taken
      if (attempt === 0) waiting()
      await sleep(POLL_MS, undefined, { signal })
    }
  }

  static async #try(directory: string, name: string): Promise<BuildLock | null> {
    const current = await highest(directory, name)
    if (current > 0 && (await ownerLives(join(directory, `${name}.${current}`)))) return null
    const mine = join(directory, `${name}.${current + 1}`)
    if (!(await createWhole(mine, await processIdentity(process.pid)))) return null
    if ((await highest(directory, name)) !== current + 1) {
      await rm(mine, { force: true })
      return null
    }
    for (const generation of await generations(directory, name)) {
      if (generation <= current) await rm(join(directory, `${name}.${generation}`), { force: true })
    }
    return new BuildLock(mine)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const released = temporary(this.#path)
    await writeFile(released, '')
    await rename(released, this.#path)
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

async function ownerLives(path: string): Promise<boolean> {
  const owner = await readFile(path, 'utf8').catch(absent)
  const pid = Number(owner?.split(' ')[0])
  if (owner === null || !Number.isSafeInteger(pid) || pid <= 0) return false
  return owner === (await processIdentity(pid).catch(absent))
}

/** The file appears with its content or not at all. False when it exists. */
async function createWhole(path: string, content: string): Promise<boolean> {
  const draft = temporary(path)
  await writeFile(draft, content)
  try {
    await link(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

function temporary(path: string): string {
  return `${path}-${randomBytes(6).toString('hex')}.tmp`
}

async function generations(directory: string, name: string): Promise<number[]> {
  return (await readdir(directory))
    .filter((entry) => entry.startsWith(`${name}.`) && /^\d+$/.test(entry.slice(name.length + 1)))
    .map((entry) => Number(entry.slice(name.length + 1)))
}

async function highest(directory: string, name: string): Promise<number> {
  return Math.max(0, ...(await generations(directory, name)))
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ESRCH') return null
  throw error
}
