import { Argument, type Command } from 'commander'
import type { InstallOptions, McpOptions } from '../commands/mcp.ts'
import { addCreateOptions } from '../options/create-options.ts'
import { parsePort } from '../options/port-spec.ts'
import { common, examples, remote, type Finish } from './common.ts'

const load = () => import('../commands/mcp.ts')
/** As in @hearth/mcp, which is not loaded to answer `--help`. */
const CLIENTS = ['claude-code', 'cursor', 'vscode', 'codex'] as const

/** The Model Context Protocol, for editors and other agents. */
export function addMcpCommands(program: Command, finish: Finish): void {
  program.commandsGroup('Other programs:')
  const mcp = program
    .command('mcp')
    .description('serve sandboxes as tools of the Model Context Protocol')
    .helpCommand(false)
  remote(addCreateOptions(mcp), 'no progress')
    .option('--sandbox <id>', 'work in this one (default: one is made when first needed, and ends with the client)')
    .option('--multi', 'tools to make, list and remove sandboxes; each call names one')
    .option('--http <port>', 'over HTTP on loopback instead of standard input; implies --multi', parsePort)
    .action(async (options: McpOptions) => finish(await (await load()).mcp(options)))
  examples(mcp, [
    'hearth mcp install claude-code',
    'hearth mcp --template debian --allow pypi.org',
    'hearth mcp --http 7080',
  ])
  const install = common(
    mcp.command('install').description('write the configuration of an editor, and show it'),
    'the path alone',
  )
    .addArgument(new Argument('<client>', 'whose configuration').choices(CLIENTS))
    .option('--multi', 'with tools to make, list and remove sandboxes')
    .option('--print', 'show it, and write nothing')
    .action(async (client: (typeof CLIENTS)[number], _: unknown, command: Command) =>
      finish(await (await load()).install(client, command.optsWithGlobals<InstallOptions>())),
    )
  examples(install, ['hearth mcp install cursor', 'hearth mcp install codex --print'])
}
