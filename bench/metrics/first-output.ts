import type { Sandbox } from '@hearth/contract'
import type { Capabilities } from '@hearth/engine'

/** Runs a first command; gives the moment at which its output was there, not the one at which it had ended. */
export async function firstOutput(sandbox: Sandbox, { processes }: Pick<Capabilities, 'processes'>): Promise<number> {
  // Where nothing runs beside the caller, output comes with the end.
  if (!processes) {
    check((await sandbox.exec(['/bin/echo', 'ready'])).stdout)
    return performance.now()
  }
  await using command = await sandbox.spawn(['/bin/echo', 'ready'])
  let at = Number.NaN
  let said = ''
  for await (const { data } of command.output) {
    if (said === '') at = performance.now()
    said += Buffer.from(data).toString()
  }
  check(said)
  return at
}

function check(said: string): void {
  if (said !== 'ready\n') throw new Error(`the first command said ${JSON.stringify(said)}`)
}
