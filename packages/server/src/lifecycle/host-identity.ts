import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newId } from '@hearth/contract'

/** The name of a home as a host of sandboxes: made once, never changed. */
export async function hostIdentity(home: string): Promise<string> {
  const path = join(home, 'host-id')
  const known = await readFile(path, 'utf8').catch(absent)
  if (known !== null) return known.trim()
  await mkdir(home, { recursive: true, mode: 0o700 })
  const draft = `${path}.${process.pid}`
  await writeFile(draft, `${newId('host')}\n`, { mode: 0o600 })
  try {
    // Appears whole or not at all, and only if nobody was faster.
    await link(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
  return (await readFile(path, 'utf8')).trim()
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}
