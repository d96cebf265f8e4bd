import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const VERSION_TIMEOUT_MS = 5000

/** What a program calls itself and its version, for example `crun 1.8.1`. Its first line, without the word "version". */
export async function programVersion(path: string): Promise<string> {
  const { stdout } = await promisify(execFile)(path, ['--version'], { timeout: VERSION_TIMEOUT_MS, env: {} })
  return (stdout.split('\n')[0] ?? '').replace(' version', '').trim().slice(0, 100)
}
