import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'

/** System administration programs are often not on a user's PATH, yet they are there. */
const EXTRA = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin', '/bin']

/** The full path of a program, or null. */
export async function findProgram(name: string, environment: NodeJS.ProcessEnv = process.env): Promise<string | null> {
  const folders = [...new Set([...(environment['PATH'] ?? '').split(':'), ...EXTRA])].filter((folder) => folder !== '')
  for (const folder of folders) {
    const path = join(folder, name)
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (found) return path
  }
  return null
}
