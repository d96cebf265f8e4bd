import { readdir, readlink } from 'node:fs/promises'
import { basename, sep } from 'node:path'

/** What works on a repository: git with its helpers, and what it speaks to servers with. */
const PROGRAMS = /^(?:git(?:-.*)?|ssh)$/

/** Ends the programs that a former life of the server has left at work below a directory. Gives how many there were. */
export async function endLeftovers(directory: string): Promise<number> {
  let count = 0
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const [program, place] = await Promise.all([linkOf(`/proc/${pid}/exe`), linkOf(`/proc/${pid}/cwd`)])
    if (!PROGRAMS.test(basename(program)) || !place.startsWith(directory + sep)) continue
    if (end(Number(pid))) count += 1
  }
  return count
}

function end(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

/** Empty for a process that has ended, or is another user's. */
async function linkOf(path: string): Promise<string> {
  try {
    return await readlink(path)
  } catch (error) {
    if (['ENOENT', 'EACCES', 'EPERM', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return ''
    throw error
  }
}
