import { access, constants } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'

/** A user's PATH often lacks the sbin directories, where distributions put some runtimes. */
const STANDARD_DIRECTORIES = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

/** The absolute path of a program, or null when it is not installed. */
export async function findProgram(name: string): Promise<string | null> {
  const directories = (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute)
  for (const directory of [...directories, ...STANDARD_DIRECTORIES]) {
    const path = join(directory, name)
    const executable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (executable) return path
  }
  return null
}
