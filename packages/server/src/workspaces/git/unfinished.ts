import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** What git writes to before it has a name, and what it holds while it changes a name. */
const UNFINISHED = /^tmp_|\.lock$/

/** Removes what a git that was killed has left in a repository: a lock would keep everybody out for ever. Nothing may be at work in it. */
export async function clearUnfinished(directory: string): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true }).catch(absent)
  for (const entry of entries ?? []) {
    if (UNFINISHED.test(entry.name)) await rm(join(entry.parentPath, entry.name), { recursive: true, force: true })
  }
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}
