import type { Process } from '@hearth/contract'
import { signalNumber } from '../exit-codes.ts'
import { invocation } from '../output/invocation.ts'
import { EscapeKeys } from './escape-keys.ts'
import { showTerminal } from './terminal.ts'

/**
 * The terminal of a command on a server. It outlives this process: typing `~.` at the beginning of a line, or closing the window,
 * leaves it, and `shell ID --attach` takes it up again.
 */
export async function showRemoteTerminal(sandbox: string, child: Process): Promise<number> {
  let left: NodeJS.Signals | 'keys' | null = null
  const leave = (reason: NodeJS.Signals | 'keys'): void => {
    left ??= reason
    void child.detach()
  }
  const hangUp = (name: NodeJS.Signals): void => leave(name)
  process.on('SIGHUP', hangUp).on('SIGTERM', hangUp)
  try {
    return await showTerminal(child, (keys) => void pumpKeys(keys, child, () => leave('keys')))
  } catch (error) {
    if (left === null) throw error
    process.stderr.write(`\r\nleft; it runs on: ${invocation()} shell ${sandbox} --attach ${child.id}\r\n`)
    return left === 'keys' ? 0 : 128 + signalNumber(left)
  } finally {
    process.off('SIGHUP', hangUp).off('SIGTERM', hangUp)
  }
}

/** The end of the keys is the end of this terminal, not of the command. */
async function pumpKeys(keys: AsyncIterable<Uint8Array>, child: Process, leave: () => void): Promise<void> {
  const escape = new EscapeKeys()
  try {
    for await (const typed of keys) {
      const found = escape.push(typed)
      if (found.pass.length > 0) await child.write(found.pass)
      if (found.leave) return leave()
    }
    leave()
  } catch {
    // The command has ended: how, is told by the one who reads its output.
  }
}
