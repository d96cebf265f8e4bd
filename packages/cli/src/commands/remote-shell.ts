import { HearthError, type Hearth, type Process, type RemoteSandbox } from '@hearth/sdk'
import { findSandbox } from '../server/find-sandbox.ts'
import { withServer } from '../server/with-server.ts'
import { showRemoteTerminal } from '../terminal/remote-terminal.ts'
import { SHELL } from '../terminal/shell-command.ts'
import { assertTerminal, terminalSize } from '../terminal/terminal.ts'
import { terminalEnvironment, type ExecOptions } from './exec.ts'

export interface RemoteShellOptions extends ExecOptions {
  /** A terminal that was left. */
  readonly attach?: number
}

/** A terminal in a sandbox of the server: a new one, or one that was left. */
export async function remoteShell(
  name: string,
  command: readonly string[],
  options: RemoteShellOptions,
): Promise<number> {
  assertTerminal('shell', 'Use `hearth exec ID -- COMMAND` in scripts and pipes.')
  return await withServer(options, async (hearth) => {
    const { sandbox, child } = await begin(hearth, name, command, options)
    return await showRemoteTerminal(sandbox.id, child)
  })
}

async function begin(
  hearth: Hearth,
  name: string,
  command: readonly string[],
  options: RemoteShellOptions,
): Promise<{ sandbox: RemoteSandbox; child: Process }> {
  const sandbox = await findSandbox(hearth, name)
  if (options.attach === undefined) {
    const words = command.length > 0 ? command : SHELL
    const child = await sandbox.spawn([...words], {
      ...terminalEnvironment(options),
      pty: terminalSize(),
      stdin: 'pipe',
    })
    return { sandbox, child }
  }
  if (command.length > 0) throw new HearthError('invalid_request', 'with --attach there is no command to start')
  const child = await sandbox.attach(options.attach)
  // Programs that draw the whole screen draw it anew when its size changes, or when they are told that it did.
  await child.resize(terminalSize()).catch(ignoreWithoutTerminal)
  return { sandbox, child }
}

/** What has ended, or never had a terminal, has no size; its output is shown all the same. */
function ignoreWithoutTerminal(): void {}
