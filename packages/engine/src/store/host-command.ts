import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** Set-up programs live here; a caller's PATH may lack it. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Runs a program of the host's. Fails with what it said. */
export async function hostCommand(program: string, args: readonly string[]): Promise<void> {
  try {
    await execute(program, args, { env: { PATH, LC_ALL: 'C' }, timeout: 60_000 })
  } catch (cause) {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : ''
    throw said === '' ? cause : new Error(said.replaceAll('\n', ' '), { cause })
  }
}
