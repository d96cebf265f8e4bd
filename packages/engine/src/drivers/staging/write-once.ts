import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a file or directory whose name says what it holds, unless it is there. Other processes may do the same at
 * the same time: each makes its own beside it, and the rename decides.
 */
export async function makeOnce(path: string, make: (temporary: string) => Promise<void>): Promise<string> {
  if (await exists(path)) return path
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${randomBytes(6).toString('hex')}`
  try {
    await make(temporary)
    await rename(temporary, path).catch(async (error: unknown) => {
      if (!(await exists(path))) throw error
    })
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
  return path
}

export async function writeOnce(path: string, content: Buffer | string): Promise<string> {
  return await makeOnce(path, (temporary) => writeFile(temporary, content, { mode: 0o644 }))
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
}
