import type { Command } from 'commander'
import type { ExportOptions, ImportOptions } from '../commands/snapshot-files.ts'
import type { SnapshotOptions } from '../commands/snapshots.ts'
import { memoryOption } from '../options/memory-option.ts'
import { collectPair, parseSize } from '../options/quantity.ts'
import type { ServerOptions } from '../server/with-server.ts'
import { examples, remote, type Finish } from './common.ts'

const SNAPSHOT = 'its name, its id, or at least 4 characters of the beginning or end of the id'
const load = () => import('../commands/snapshots.ts')
const loadFiles = () => import('../commands/snapshot-files.ts')

/** Captured sandboxes, which outlive those that they were taken of. */
export function addSnapshotCommands(program: Command, finish: Finish): void {
  const group = program
    .command('snapshot')
    .description('captured sandboxes: made, listed, removed, taken to other hosts')
    .helpCommand(false)
  addCreate(group, finish)
  remote(group.command('ls').description('list the snapshots, newest first')).action(async (options: ServerOptions) =>
    finish(await (await load()).listSnapshots(options)),
  )
  remote(group.command('get').description('show one snapshot'))
    .argument('<snapshot>', SNAPSHOT)
    .action(async (name: string, options: ServerOptions) => finish(await (await load()).getSnapshot(name, options)))
  const remove = remote(group.command('rm').description('remove snapshots that no living sandbox was made of'))
    .argument('<snapshots...>', SNAPSHOT)
    .action(async (names: string[], options: ServerOptions) =>
      finish(await (await load()).removeSnapshots(names, options)),
    )
  examples(remove, ['hearth snapshot rm prepared', 'hearth snapshot rm $(hearth snapshot ls -q)'])
  addExport(group, finish)
  addImport(group, finish)
}

function addCreate(group: Command, finish: Finish): void {
  const command = remote(
    group.command('create').description('capture a sandbox as it is now; it goes on'),
    'its id alone',
  )
    .argument('<id>', 'of a sandbox, or at least 4 characters of its beginning or end')
    .option('--name <name>', 'to find it by: lower-case letters, digits, dots, dashes and underscores')
    .addOption(memoryOption())
    .option('--meta <KEY=VALUE>', 'a label (repeatable)', collectPair)
    .action(async (id: string, options: SnapshotOptions) => finish(await (await load()).createSnapshot(id, options)))
  examples(command, ['hearth snapshot create ID --name prepared', 'hearth create --from prepared'])
}

function addExport(group: Command, finish: Finish): void {
  const command = remote(
    group.command('export').description('write all of a snapshot but its template to one file'),
    'no progress',
  )
    .argument('<snapshot>', SNAPSHOT)
    .argument('<file>', 'where to, a directory, or - for standard output')
    .option('--max-size <size>', 'the most that may be written here, like 2G (default: 16G)', parseSize)
    .action(async (name: string, file: string, options: ExportOptions) =>
      finish(await (await loadFiles()).exportSnapshot(name, file, options)),
    )
  examples(command, [
    'hearth snapshot export prepared prepared.snapshot',
    'hearth snapshot export prepared - | ssh other hearth snapshot import - --name prepared',
  ])
}

function addImport(group: Command, finish: Finish): void {
  const command = remote(group.command('import').description('make a snapshot of an exported one'), 'its id alone')
    .argument('<file>', 'what was exported, or - for standard input')
    .option('--name <name>', 'to find it by: lower-case letters, digits, dots, dashes and underscores')
    .addHelpText('after', '\nAll of it is checked before it can be used, and the template that it needs must be here.')
    .action(async (file: string, options: ImportOptions) =>
      finish(await (await loadFiles()).importSnapshot(file, options)),
    )
  examples(command, ['hearth snapshot import prepared.snapshot --name prepared'])
}
