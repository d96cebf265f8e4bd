import type { Command } from 'commander'
import type { NewVolumeOptions } from '../commands/volumes.ts'
import { parseSize } from '../options/quantity.ts'
import type { ServerOptions } from '../server/with-server.ts'
import { examples, remote, type Finish } from './common.ts'

const VOLUME = 'its name, its id, or at least 4 characters of the beginning or end of the id'
const load = () => import('../commands/volumes.ts')

/** Directories that outlive sandboxes. */
export function addVolumeCommands(program: Command, finish: Finish): void {
  const group = program
    .command('volume')
    .description('directories that outlive sandboxes; one at a time writes to each')
    .helpCommand(false)
  const create = remote(group.command('create').description('make an empty one'), 'its id alone')
    .argument('[name]', 'to find it by: lower-case letters, digits, dots and dashes')
    .option('--disk <size>', 'the most that it may hold, like 2G (default: 4G)', parseSize)
    .action(async (name: string | undefined, options: NewVolumeOptions) =>
      finish(await (await load()).createVolume(name, options)),
    )
  examples(create, [
    'hearth volume create data',
    'hearth create --volume data:/data',
    'hearth create --volume data:/data:ro',
  ])
  remote(group.command('ls').description('list the volumes, newest first')).action(async (options: ServerOptions) =>
    finish(await (await load()).listVolumes(options)),
  )
  remote(group.command('get').description('show one volume'))
    .argument('<volume>', VOLUME)
    .action(async (name: string, options: ServerOptions) => finish(await (await load()).getVolume(name, options)))
  const remove = remote(group.command('rm').description('remove volumes that no sandbox has, with all that is in them'))
    .argument('<volumes...>', VOLUME)
    .action(async (names: string[], options: ServerOptions) =>
      finish(await (await load()).removeVolumes(names, options)),
    )
  examples(remove, ['hearth volume rm data'])
}
