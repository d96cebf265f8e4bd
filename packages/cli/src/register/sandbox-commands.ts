import type { Command } from 'commander'
import type { SleepOptions } from '@hearth/sdk'
import type { ListOptions } from '../commands/list.ts'
import { addCreateOptions, type CreateOptions } from '../options/create-options.ts'
import { memoryOption } from '../options/memory-option.ts'
import { collectPair, parseDuration } from '../options/quantity.ts'
import { parseRung } from '../options/sandbox-options.ts'
import type { ServerOptions } from '../server/with-server.ts'
import { examples, remote, type Finish } from './common.ts'

const IDS = 'of sandboxes, or at least 4 characters of their beginning or end'
const load = () => import('../commands/sandboxes.ts')

/** The life of sandboxes on the server. */
export function addSandboxCommands(program: Command, finish: Finish): void {
  program.commandsGroup('Sandboxes on the server:')
  addCreate(program, finish)
  addList(program, finish)
  remote(program.command('get').description('show one sandbox'))
    .argument('<id>', 'of a sandbox, or at least 4 characters of its beginning or end')
    .action(async (id: string, options: ServerOptions) => finish(await (await load()).get(id, options)))
  addStats(program, finish)
  remote(program.command('pause').description('freeze all processes; the next call into it wakes it'))
    .argument('<ids...>', IDS)
    .action(async (ids: string[], options: ServerOptions) => finish(await (await load()).pause(ids, options)))
  remote(program.command('resume').description('thaw all processes'))
    .argument('<ids...>', IDS)
    .action(async (ids: string[], options: ServerOptions) => finish(await (await load()).resume(ids, options)))
  addSleep(program, finish)
  addRenew(program, finish)
  const stop = remote(
    program.command('stop').description('end sandboxes; for ten minutes `hearth get` still says why they ended'),
  )
    .argument('<ids...>', IDS)
    .action(async (ids: string[], options: ServerOptions) => finish(await (await load()).stop(ids, options)))
  examples(stop, ['hearth stop sb_01k9x3m2qv7t5w8e4r6y'])
  const remove = remote(program.command('rm').description('end sandboxes and remove all that is in them'))
    .argument('<ids...>', IDS)
    .action(async (ids: string[], options: ServerOptions) => finish(await (await load()).remove(ids, options)))
  examples(remove, ['hearth rm sb_01k9x3m2qv7t5w8e4r6y', 'hearth rm $(hearth ls -q --meta job=nightly)'])
}

function addCreate(program: Command, finish: Finish): void {
  const command = program.command('create').description('make a sandbox that stays until its deadline')
  examples(command, [
    'hearth create',
    'hearth create --at-least gvisor --memory 512M --ttl 2h --meta job=nightly',
    'hearth create --from prepared',
    'hearth create --volume data:/data',
    'hearth create --workspace https://github.com/owner/name',
    `hearth create --delegate '{"children":2,"policy":{"allow":["pypi.org"]}}'`,
    'id=$(hearth create -q --template debian) && hearth exec $id -- python3 --version',
  ])
  remote(addCreateOptions(command), 'its id alone').action(async (options: CreateOptions & ServerOptions) =>
    finish(await (await import('../commands/create.ts')).create(options)),
  )
}

function addList(program: Command, finish: Finish): void {
  const command = program
    .command('ls')
    .description('list sandboxes, newest first')
    .option('-a, --all', 'also those that have ended')
    .option('--state <name>', 'only in this state, like running or hibernated')
    .option('--rung <name>', 'only on this rung', parseRung)
    .option('--meta <KEY=VALUE>', 'only with this label (repeatable)', collectPair)
  remote(command).action(async (options: ListOptions) =>
    finish(await (await import('../commands/list.ts')).list(options)),
  )
}

function addStats(program: Command, finish: Finish): void {
  remote(program.command('stats').description('what sandboxes use: memory, processor, processes, disk'))
    .argument('[ids...]', 'default: all that run')
    .action(async (ids: string[], options: ServerOptions) => finish(await (await load()).stats(ids, options)))
}

function addSleep(program: Command, finish: Finish): void {
  const description = 'write sandboxes to disk and end their machines; the next call into one wakes it'
  const hibernate = remote(program.command('hibernate').description(description))
    .argument('<ids...>', IDS)
    .addOption(memoryOption())
    .action(async (ids: string[], options: SleepOptions & ServerOptions) =>
      finish(await (await load()).hibernate(ids, options)),
    )
  examples(hibernate, ['hearth hibernate sb_01k9x3m2qv7t5w8e4r6y', 'hearth create --idle 10m --idle-action hibernate'])
  remote(program.command('wake').description('give hibernated sandboxes their machines again'))
    .argument('<ids...>', IDS)
    .addOption(memoryOption('whether their processes go on; none: only their files'))
    .action(async (ids: string[], options: SleepOptions & ServerOptions) =>
      finish(await (await load()).wake(ids, options)),
    )
}

function addRenew(program: Command, finish: Finish): void {
  const command = remote(program.command('renew').description('move the deadline'))
    .argument('<ids...>', IDS)
    .option('--ttl <duration>', 'from now, like 30m or 2h (default: 1h)', parseDuration)
    .action(async (ids: string[], options: ServerOptions & { ttl?: number }) =>
      finish(await (await load()).renew(ids, options)),
    )
  examples(command, ['hearth renew sb_01k9x3m2qv7t5w8e4r6y --ttl 2h'])
}
