import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { BOUNDS } from '@hearth/contract'
import { hearthHome } from '../server/home.ts'

/** No sandbox of a run lives as long: what is older belongs to runs that nobody can go on with. */
const KEPT_MS = BOUNDS.maximumTtlMs + 24 * 3_600_000

/** What a run needs on this machine to know what has changed. */
export function stateDirectoryOf(run: string): string {
  return join(hearthHome(), 'agents', run)
}

/** Somebody works with it now. */
export async function touchState(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const now = new Date()
  await utimes(directory, now, now)
}

/** Removes what runs left behind whose processes died here, and that nobody has taken up for long. */
export async function sweepStates(now = Date.now()): Promise<void> {
  const all = join(hearthHome(), 'agents')
  for (const name of await readdir(all).catch(noneThere)) {
    const directory = join(all, name)
    const found = await stat(directory).catch(noneThere)
    if ('mtimeMs' in found && found.mtimeMs < now - KEPT_MS) await rm(directory, { recursive: true, force: true })
  }
}

/** Another process may sweep too. */
function noneThere(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return []
  throw error
}
