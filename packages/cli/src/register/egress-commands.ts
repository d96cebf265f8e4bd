import type { Command } from 'commander'
import type { VerifyOptions } from '../commands/record.ts'
import type { SecretOptions } from '../commands/secrets.ts'
import { addPolicyOptions, addProxyOption, type PolicyOptions } from '../options/policy-options.ts'
import { collectWord } from '../options/quantity.ts'
import type { ServerOptions } from '../server/with-server.ts'
import { examples, remote, type Finish } from './common.ts'

const ID = 'of a sandbox, or at least 4 characters of its beginning or end'

/** What sandboxes may reach, and with which secrets. */
export function addEgressCommands(program: Command, finish: Finish): void {
  program.commandsGroup('What sandboxes reach:')
  addPolicy(program, finish)
  addSecret(program, finish)
}

function addPolicy(program: Command, finish: Finish): void {
  const policy = program.command('policy').description('what sandboxes may reach').helpCommand(false)
  const load = () => import('../commands/policy.ts')
  const show = remote(
    policy.command('show').description('print what is in force, with presets written out'),
    'no notes',
  )
    .argument('[id]', ID)
    .option('--preset <name>', 'what a preset holds, instead of a sandbox')
    .action(async (id: string | undefined, options: ServerOptions & { preset?: string }) =>
      finish(await (await load()).showPolicy(id, options)),
    )
  examples(show, ['hearth policy show ID', 'hearth policy show --preset pypi'])
  const set = remote(policy.command('set').description('replace it while the sandbox runs'), 'no notes').argument(
    '<id>',
    ID,
  )
  addProxyOption(addPolicyOptions(set)).action(async (id: string, options: ServerOptions & PolicyOptions) =>
    finish(await (await load()).setPolicy(id, options)),
  )
  examples(set, [
    'hearth policy set ID --allow api.example.com --preset npm',
    'hearth policy set ID --policy learned.json',
  ])
  const learn = remote(
    policy.command('learn').description('print the smallest policy that would have allowed what a sandbox did'),
    'no notes',
  )
    .argument('<id>', `${ID}; one that has ended by its whole id`)
    .action(async (id: string, options: ServerOptions) => finish(await (await load()).learn(id, options)))
  examples(learn, [
    'echo \'{"mode":"audit"}\' > audit.json && hearth create --policy audit.json',
    'hearth policy learn ID > learned.json',
  ])
}

function addSecret(program: Command, finish: Finish): void {
  const secret = program.command('secret').description('values that sandboxes use and never see').helpCommand(false)
  const load = () => import('../commands/secrets.ts')
  const set = remote(
    secret.command('set').description('store one; its value comes from standard input or is asked for'),
  )
    .argument('<name>', 'also of the variable in which a sandbox finds its placeholder')
    .requiredOption('--for <host>', 'the name that it is sent to, like api.example.com or *.example.com')
    .option('--header <name>', 'it is put into this header')
    .option('--basic', 'it is the password of HTTP Basic, as git sends it')
    .option('--query <key>', 'it is put into this key of the query')
    .option('--field <name>', 'it is put into this field of a JSON body, like auth.token')
    .option('--aws', 'requests are signed with it (AWS Signature Version 4)')
    .option('--ssh', 'it is a private key of ssh, without a passphrase, with which the server opens repositories')
    .option(
      '--host-key <key>',
      'with --ssh: the server must have this key, as `ssh-keyscan` prints it (repeatable)',
      collectWord,
    )
    .option('--method <name>', 'only in requests with this method (repeatable)', collectWord)
    .option('--path <pattern>', 'only in requests to such paths, like /v1/** (repeatable)', collectWord)
    .option('--branch <pattern>', 'with --basic or --ssh: git may push these branches alone (repeatable)', collectWord)
    .action(async (name: string, options: SecretOptions) => finish(await (await load()).setSecret(name, options)))
  examples(set, [
    'hearth secret set API_KEY --for api.example.com --header authorization < key.txt',
    'hearth secret set GIT_TOKEN --for git.example.com --basic --branch "feature/*"',
    'hearth secret set deploy --for git.example.com --ssh < ~/.ssh/deploy',
    'hearth create --secret API_KEY --allow api.example.com',
  ])
  remote(secret.command('ls').description('list them; never their values'), 'names alone').action(
    async (options: ServerOptions) => finish(await (await load()).listSecrets(options)),
  )
  remote(secret.command('rm').description('remove secrets'), 'names alone')
    .argument('<names...>', 'what `hearth secret ls` shows')
    .action(async (names: string[], options: ServerOptions) =>
      finish(await (await load()).removeSecrets(names, options)),
    )
}

/** Below `events`. */
export function addVerify(events: Command, finish: Finish): void {
  const command = remote(
    events.command('verify').description('say whether a record is what was written'),
    'the exit code alone',
  )
    .argument('[id]', `${ID}; one that has ended by its whole id`)
    .option('--file <path>', 'what --export wrote, without asking a server')
    .option('--public-key <hex>', 'with --file: it must be signed with this key')
    .addHelpText('after', '\nEnds with 1 when something was changed, taken away or put in.')
    .action(async (id: string | undefined, options: VerifyOptions) =>
      finish(await (await import('../commands/record.ts')).verify(id, options)),
    )
  examples(command, [
    'hearth events verify ID',
    'hearth events ID --export run.jsonl && hearth events verify --file run.jsonl',
  ])
}
