import type { Command } from 'commander'
import type { CopyOptions } from '../commands/copy.ts'
import type { PortOptions } from '../commands/port.ts'
import { parsePortSpec, type PortSpec } from '../options/port-spec.ts'
import { parseDuration, parseSize } from '../options/quantity.ts'
import { examples, remote, type Finish } from './common.ts'

/** What goes into sandboxes and comes out of them. */
export function addTransferCommands(program: Command, finish: Finish): void {
  addCopy(program, finish)
  addPort(program, finish)
}

function addCopy(program: Command, finish: Finish): void {
  const command = remote(
    program.command('cp').description('copy files and directories into or out of a sandbox'),
    'no progress',
  )
    .argument('<from>', 'a local path, ID:/path, or - for standard input')
    .argument('<to>', 'a local path, ID:/path, or - for standard output')
    .option('--max-size <size>', 'the most that may be written here, like 2G (default: 16G)', parseSize)
    .addHelpText(
      'after',
      '\nA directory goes into one that exists, under its own name; DIRECTORY/. is what it holds. A\ndirectory to - is a tar archive, and - into a directory unpacks one. Of what comes out of a\nsandbox, links that lead elsewhere, devices and setuid bits are left out.',
    )
    .action(async (from: string, to: string, options: CopyOptions) =>
      finish(await (await import('../commands/copy.ts')).copy(from, to, options)),
    )
  examples(command, [
    'hearth cp data.csv ID:/tmp/',
    'hearth cp ./project ID:/workspace',
    'hearth cp ID:/workspace/out ./out',
    'tar -c src | hearth cp - ID:/workspace/',
    'hearth cp ID:/var/log/app.log - | tail',
  ])
}

function addPort(program: Command, finish: Finish): void {
  const command = remote(
    program.command('port').description('reach a port of a sandbox: its addresses, or a port of this machine'),
    'the address alone',
  )
    .argument('<id>', 'of a sandbox, or at least 4 characters of its beginning or end')
    .argument('<port[:local]>', 'the port inside; with :LOCAL a port here leads to it until Ctrl-C', parsePortSpec)
    .option('--ttl <duration>', 'how long the link works (default: 1h)', parseDuration)
    .option('--wait <duration>', 'wait until something listens there, at most so long', parseDuration)
    .option('--path', 'a link below a path of the server, where names below its domain lead nowhere')
    .action(async (id: string, spec: PortSpec, options: PortOptions) =>
      finish(await (await import('../commands/port.ts')).port(id, spec, options)),
    )
  examples(command, [
    'hearth port ID 8000',
    'xdg-open "$(hearth port ID 8000 -q --wait 10s)"',
    'hearth port ID 5432:15432',
    'hearth port ID 8000:0',
  ])
}
