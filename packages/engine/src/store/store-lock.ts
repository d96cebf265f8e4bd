import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { HearthError } from '@hearth/contract'

const WAIT_MS = 60_000

/** Lets one process at a time make or mount the store of a home. The lock of a process that has died is taken over. */
export async function withStoreLock<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  const giveUp = Date.now() + WAIT_MS
  while (!(await acquire(path))) {
    if (await isStale(path)) await rm(path, { force: true })
    else if (Date.now() > giveUp) throw new HearthError('timeout', `another process has held ${path} for a minute`)
    else await sleep(50)
  }
  try {
    return await work()
  } finally {
    await rm(path, { force: true })
  }
}

async function acquire(path: string): Promise<boolean> {
  try {
    await writeFile(path, `${process.pid}\n`, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

/** Its process is gone; or it was made a while ago and holds no number, because its maker died between the two. */
async function isStale(path: string): Promise<boolean> {
  const text = await readFile(path, 'utf8').catch(() => null)
  if (text === null) return false
  if (/^\d+\n$/.test(text)) return !(await exists(`/proc/${text.trim()}`))
  const made = await stat(path).catch(() => null)
  return made !== null && Date.now() - made.mtimeMs > 5000
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  )
}
