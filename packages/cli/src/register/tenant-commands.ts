import { InvalidArgumentError, type Command } from 'commander'
import type { QuotaOptions } from '../commands/tenants.ts'
import { parseCpus, parseSize } from '../options/quantity.ts'
import type { ServerOptions } from '../server/with-server.ts'
import { examples, remote, type Finish } from './common.ts'

const load = () => import('../commands/tenants.ts')
const TENANT = 'its name, or its id'

/** Who uses the server, and how much of it. */
export function addTenantCommands(program: Command, finish: Finish): void {
  remote(
    program.command('quota').description('what your tenant may hold at once, and what it holds'),
    'the id of your tenant',
  ).action(async (options: ServerOptions) => finish(await (await load()).ownQuotas(options)))
  const group = program
    .command('tenant')
    .description('who uses the server, each with keys and quotas of its own (for operators)')
    .helpCommand(false)
  remote(group.command('ls').description('list the tenants')).action(async (options: ServerOptions) =>
    finish(await (await load()).listTenants(options)),
  )
  const create = quotas(remote(group.command('create').description('make a tenant'), 'its id alone'))
    .argument('<name>', 'letters, digits, dots, dashes and underscores')
    .action(async (name: string, options: QuotaOptions) => finish(await (await load()).createTenant(name, options)))
  examples(create, ['hearth tenant create research --sandboxes 20', 'hearth key create first --tenant research'])
  const quota = quotas(
    remote(
      group.command('quota').description('show the quotas of a tenant, or change those that are given'),
      'its id alone',
    ),
  )
    .argument('<tenant>', TENANT)
    .action(async (name: string, options: QuotaOptions) => finish(await (await load()).tenantQuotas(name, options)))
  examples(quota, ['hearth tenant quota default', 'hearth tenant quota default --sandboxes 500 --memory 512G'])
  remote(
    group.command('rm').description('remove tenants that hold nothing, with their keys and all that is known of them'),
  )
    .argument('<tenants...>', TENANT)
    .action(async (names: string[], options: ServerOptions) =>
      finish(await (await load()).removeTenants(names, options)),
    )
}

function quotas(command: Command): Command {
  return command
    .option('--sandboxes <number>', 'that may have a machine at once', parseNumber)
    .option('--cpus <number>', 'cores of all of them together', parseCpus)
    .option('--memory <size>', 'memory of all of them together, like 64G', parseSize)
    .option('--disk <size>', 'disks, snapshots and volumes together, like 1T', parseSize)
    .option('--snapshots <number>', 'how many there may be', parseNumber)
    .option('--volumes <number>', 'how many there may be', parseNumber)
}

/** A quota may be 0: nothing more of that kind is made then. */
function parseNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number, like 100.')
}
