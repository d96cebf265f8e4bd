import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { recordedUrl } from '../packages/cli/src/server/server-record.ts'
import { setup } from './setup/setup.ts'

const CLI = join(import.meta.dirname, '../packages/cli/bin/hearth.js')

/** Makes the machine ready, shows what works on it, and runs the server until it is interrupted. `options` are those of `hearth up`. */
export async function start(options: readonly string[]): Promise<number> {
  const ready = await setup({ tests: false, retry: false })
  const { status } = spawnSync(process.execPath, [CLI, 'doctor'], { stdio: 'inherit' })
  process.stdout.write('\n')
  if (!ready || status !== 0) return status === 0 ? 1 : (status ?? 1)
  const running = recordedUrl()
  if (running === null) return await runServer(options)
  process.stdout.write(
    `A server of this home runs already, on ${running}:\n  npx hearth ls       shows its sandboxes\n`,
  )
  return 0
}

async function runServer(options: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [CLI, 'up', ...options], { stdio: 'inherit' })
  // An interrupt from the terminal reaches the server by itself, which ends in order; this process only waits for it.
  const ignore = (): void => undefined
  const pass = (): void => void child.kill('SIGTERM')
  process.on('SIGINT', ignore).on('SIGTERM', pass)
  const [code] = (await once(child, 'exit')) as [number | null]
  process.off('SIGINT', ignore).off('SIGTERM', pass)
  return code ?? 1
}
