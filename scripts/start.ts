import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setup } from './setup/setup.ts'

const NEXT = `
Try next:
  npx hearth run -- echo hello                       a command in a fresh sandbox
  npx hearth run --at-least gvisor -- uname -a       refuse anything weaker than gVisor
  npx hearth shell                                   a terminal in a fresh sandbox
  npx hearth template build debian                   a Debian root with python3, node and git
  npx hearth doctor                                  this table again
`

/** Makes the machine ready and shows what works on it. */
export async function start(): Promise<number> {
  const ready = await setup({ tests: false, retry: false })
  const cli = join(import.meta.dirname, '../packages/cli/bin/hearth.js')
  const { status } = spawnSync(process.execPath, [cli, 'doctor'], { stdio: 'inherit' })
  if (status === 0) process.stdout.write(NEXT)
  return ready ? (status ?? 1) : 1
}
