import { Command } from 'commander'
import type { Finish } from './register/common.ts'
import { addAgentCommands } from './register/agent-commands.ts'
import { addCopyCommands } from './register/copy-commands.ts'
import { addEgressCommands } from './register/egress-commands.ts'
import { addHostCommands } from './register/host-commands.ts'
import { addMcpCommands } from './register/mcp-commands.ts'
import { addProcessCommands } from './register/process-commands.ts'
import { addSandboxCommands } from './register/sandbox-commands.ts'
import { addSearchCommands } from './register/search-commands.ts'
import { addServerCommands } from './register/server-commands.ts'
import { addSnapshotCommands } from './register/snapshot-commands.ts'
import { addTemplateCommands } from './register/template-commands.ts'
import { addTenantCommands } from './register/tenant-commands.ts'
import { addTransferCommands } from './register/transfer-commands.ts'
import { addVolumeCommands } from './register/volume-commands.ts'
import { addWorkspaceCommands } from './register/workspace-commands.ts'
import { version } from './version.ts'

const MORE = `
First steps:
  hearth up                             the server, until Ctrl-C
  hearth create                         a sandbox on it
  hearth exec ID -- uname -a            a command in that sandbox; part of the ID will do
  hearth run -- echo hello              a command in a fresh sandbox, without a server

HEARTH_HOME (default ~/.hearth) holds all state, HEARTH_URL and HEARTH_API_KEY lead to a server elsewhere.
Every command takes --help, and those that show something --json and -q.`

/** The commands and their options. What a command does is imported when it runs, so that help and mistakes are answered at once. */
export function makeProgram(finish: Finish): Command {
  const program = new Command('hearth')
    .description('Every AI agent gets its own computer: isolated, disposable, self-hosted.')
    .usage('<command> [id] [options] [-- command]')
    .version(version(), '--version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .addHelpText('after', MORE)
  addHostCommands(program, finish)
  addSandboxCommands(program, finish)
  addProcessCommands(program, finish)
  addTransferCommands(program, finish)
  addCopyCommands(program, finish)
  addSnapshotCommands(program, finish)
  addTemplateCommands(program, finish)
  addVolumeCommands(program, finish)
  addWorkspaceCommands(program, finish)
  addAgentCommands(program, finish)
  addSearchCommands(program, finish)
  addEgressCommands(program, finish)
  addServerCommands(program, finish)
  addTenantCommands(program, finish)
  addMcpCommands(program, finish)
  return program
}
