import { InvalidArgumentError, type Command } from 'commander'
import type { EventsOptions } from '../commands/events.ts'
import type { KeyOptions, TenantKeyOptions } from '../commands/keys.ts'
import { collectWord, parseCount, parseDuration, parsePool } from '../options/quantity.ts'
import type { ServerOptions } from '../server/with-server.ts'
import { examples, remote, type Finish } from './common.ts'
import { addVerify } from './egress-commands.ts'

/** What the server knows besides sandboxes. */
export function addServerCommands(program: Command, finish: Finish): void {
  program.commandsGroup('The server:')
  addEvents(program, finish)
  addKey(program, finish)
  addPool(program, finish)
  addCompletion(program, finish)
}

function addEvents(program: Command, finish: Finish): void {
  const command = remote(program.command('events').description('what happened to sandboxes'), 'their numbers alone')
    .argument('[id]', 'of this sandbox alone')
    .option('-f, --follow', 'what happens from now on, or from --after on')
    .option('--after <seq>', 'only what came after this number', parseSequence)
    .option('--limit <number>', 'only so many of the last ones (default: 100)', parseCount)
    .option('--export <file>', 'all that is kept of one sandbox, as lines of JSON that can be verified')
    .action(async (id: string | undefined, options: EventsOptions) =>
      finish(await (await import('../commands/events.ts')).events(id, options)),
    )
  addVerify(command, finish)
  examples(command, ['hearth events', 'hearth events -f --json | jq .type', 'hearth events ID --export run.jsonl'])
}

const TENANT = 'of another tenant, by its name or id (for operators)'

function addKey(program: Command, finish: Finish): void {
  const key = program.command('key').description('the keys of the API').helpCommand(false)
  const load = () => import('../commands/keys.ts')
  const create = remote(key.command('create').description('make a key; it is shown this once'), 'the key alone')
    .argument('<name>', 'what it is for')
    .option(
      '--scope <name>',
      'sandbox:read, sandbox:write, sandbox:persistent, exec, files, ports, secrets, workspaces, runs, keys, admin or operator (repeatable; default: what your own key may)',
      collectWord,
    )
    .option('--expires <duration>', 'it ends after this time, like 30d', parseDuration)
    .option('--tenant <name>', TENANT)
    .action(async (name: string, options: KeyOptions) => finish(await (await load()).createKey(name, options)))
  examples(create, ['hearth key create ci --scope sandbox:read --scope sandbox:write --scope exec --expires 30d'])
  const delegate = remote(
    key.command('delegate').description('make a key that is a part of yours, and ends with it; it is shown this once'),
    'the key alone',
  )
    .argument('<name>', 'what it is for')
    .requiredOption(
      '--grant <json>',
      'what it may do at the most, as JSON or a file of it; {} for no names and no secrets',
    )
    .option('--expires <duration>', 'it ends after this time, with all that was made with it', parseDuration)
    .action(async (name: string, options: KeyOptions) => finish(await (await load()).createKey(name, options)))
  examples(delegate, [
    `hearth key delegate helper --grant '{"policy":{"allow":["pypi.org"]},"children":2,"ttlMs":600000}' --expires 1h`,
  ])
  remote(key.command('ls').description('list the keys; never the keys themselves'))
    .option('--tenant <name>', TENANT)
    .action(async (options: TenantKeyOptions) => finish(await (await load()).listKeys(options)))
  remote(key.command('revoke').description('refuse keys from now on'))
    .argument('<ids...>', 'what `hearth key ls` shows')
    .option('--tenant <name>', TENANT)
    .action(async (ids: string[], options: TenantKeyOptions) => finish(await (await load()).revokeKeys(ids, options)))
}

function addPool(program: Command, finish: Finish): void {
  const pool = program.command('pool').description('machines that wait for the next creates').helpCommand(false)
  const load = () => import('../commands/pool.ts')
  const quiet = 'how many wait, alone'
  remote(pool.command('ls').description('show what waits, and for what'), quiet).action(
    async (options: ServerOptions) => finish(await (await load()).showPool(options)),
  )
  const set = remote(pool.command('set').description('change what they may hold, until the server starts again'), quiet)
    .argument('<memory>', 'of all of them together, like 512M, or off', parsePool)
    .action(async (memoryBytes: number, options: ServerOptions) =>
      finish(await (await load()).setPool(memoryBytes, options)),
    )
  examples(set, ['hearth pool set 1G', 'hearth pool set off'])
}

function addCompletion(program: Command, finish: Finish): void {
  const command = program
    .command('completion')
    .description('print a script that completes commands, options and ids')
    .argument('<shell>', 'bash, zsh or fish', (text: string) => {
      if (['bash', 'zsh', 'fish'].includes(text)) return text
      throw new InvalidArgumentError('It must be bash, zsh or fish.')
    })
    .action(async (shell: 'bash' | 'zsh' | 'fish') =>
      finish(await (await import('../commands/completion.ts')).completion(program, shell)),
    )
  examples(command, [
    'source <(hearth completion bash)',
    'hearth completion zsh > "${fpath[1]}/_hearth"',
    'hearth completion fish > ~/.config/fish/completions/hearth.fish',
  ])
}

function parseSequence(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a number that `hearth events` shows.')
}
