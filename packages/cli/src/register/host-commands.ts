import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { parsePort } from '../options/port-spec.ts'
import { collectWord, parsePool } from '../options/quantity.ts'
import { addSandboxOptions, type SandboxOptions } from '../options/sandbox-options.ts'
import type { UpOptions } from '../options/up-configuration.ts'
import { common, examples, type CommonOptions, type Finish } from './common.ts'

/** Measuring needs the repository: an installed package has none. */
const BENCH = join(import.meta.dirname, '../../../../bench')

/** Commands that work on this machine, without a server. */
export function addHostCommands(program: Command, finish: Finish): void {
  program.commandsGroup('This machine:')
  addUp(program, finish)
  addSetup(program, finish)
  addDoctor(program, finish)
  addRun(program, finish)
  addStore(program, finish)
  if (existsSync(BENCH)) addBench(program, finish)
}

function addUp(program: Command, finish: Finish): void {
  const command = program
    .command('up')
    .description('run the server in the foreground; what it runs outlives it')
    .option('--config <file>', 'settings of the server as JSON, with comments; the options here win over it')
    .option('--print-config', 'print all settings as they would be, without secrets, and start nothing')
    .option('--port <number>', 'where to listen; 0 for any free one (default: 7070)', parsePort)
    .option('--host <address>', 'default 127.0.0.1; elsewhere only when there is a key')
    .option('--public-url <url>', 'where clients reach it behind a proxy, like https://hearth.example.com')
    .option(
      '--preview-domain <domain>',
      'previews of ports are names below it, which must lead here (default: localhost)',
    )
    .option('--database <url>', 'sqlite:PATH or postgres://... (default: hearth.db in HEARTH_HOME)')
    .option(
      '--pool <size>',
      'memory for machines that wait for the next creates, or off (default: 256M; HEARTH_POOL=off)',
      parsePool,
    )
    .option(
      '--dialect <name=port>',
      "another vendor's API: e2b=PORT[,DOMAIN], pandastack=PORT, or none (repeatable; default on loopback: e2b=7071, pandastack=7072)",
      collectWord,
    )
    .option(
      '--dialect-allow <name>',
      'what sandboxes and builds of these APIs reach that name nothing: NAME, *.NAME, a preset like pypi, or public (repeatable; default: nothing)',
      collectWord,
    )
    .option(
      '--webhook-network <cidr>',
      'webhooks reach this network too, besides public addresses, like 10.0.0.0/8 (repeatable)',
      collectWord,
    )
    .option('--new-key', 'make another key of an operator for the command line, when the one of this home is lost')
    .option('--verbose', 'the whole log also on a terminal, which else shows problems alone')
    .option('--json', 'the same, and a failure as JSON too; the log is an object per line')
    .option('-q, --quiet', 'no welcome, and of the log problems alone; a key that is made is in HEARTH_HOME/key')
    .action(async (options: UpOptions) => {
      const { printConfiguration, up } = await import('../commands/up.ts')
      finish(await (options.printConfig === true ? printConfiguration(options) : up(options)))
    })
  examples(command, [
    'hearth up',
    'hearth up --config /etc/hearth.json',
    'HEARTH_HOME=/srv/second hearth up --port 7080 --dialect none > hearth.log',
    'hearth up --public-url https://hearth.example.com --preview-domain preview.example.com',
  ])
}

function addSetup(program: Command, finish: Finish): void {
  const command = program
    .command('setup')
    .description('prepare this machine: as root on Debian or Ubuntu install what rungs need, and make the disk store')
  common(command, 'no progress, problems alone').action(async (options: CommonOptions) =>
    finish(await (await import('../commands/setup.ts')).setupMachine(options)),
  )
  examples(command, ['sudo hearth setup', 'HEARTH_STORE_SIZE=64G hearth setup'])
}

function addDoctor(program: Command, finish: Finish): void {
  common(program.command('doctor').description('show which rungs of isolation work here, why not, and the fix')).action(
    async (options: CommonOptions) => finish(await (await import('../commands/doctor.ts')).doctor(options)),
  )
}

function addRun(program: Command, finish: Finish): void {
  const command = program
    .command('run')
    .description('run one command in a fresh sandbox; its input, output, signals and exit code pass through')
    .usage('[options] [--] <command> [arguments...]')
    .argument('<command...>', 'the program and its arguments')
    .passThroughOptions()
    .addHelpText(
      'after',
      '\nEnds with the exit code of the command, 124 after a timeout, 127 when there is no such\ncommand, 125 when Hearth itself failed.',
    )
  examples(command, [
    "hearth run --at-least gvisor -- python3 -c 'print(2+2)'",
    'echo hi | hearth run --memory 256M -- wc -c',
  ])
  common(addSandboxOptions(command)).action(async (words: string[], options: SandboxOptions & CommonOptions) =>
    finish(await (await import('../commands/run.ts')).run(words, options)),
  )
}

function addStore(program: Command, finish: Finish): void {
  const store = program.command('store').description('where files of sandboxes and snapshots lie').helpCommand(false)
  const load = () => import('../commands/store.ts')
  common(store.command('df').description('show what fills it')).action(async (options: CommonOptions) =>
    finish(await (await load()).showUsage(options)),
  )
  common(
    store
      .command('gc')
      .description('free what nobody can use any more; ends with 1 when something could not be removed'),
  ).action(async (options: CommonOptions) => finish(await (await load()).removeGarbage(options)))
  const check = 'compare what it says with what lies in it; ends with 1 when something is damaged'
  common(store.command('check').description(check)).action(async (options: CommonOptions) =>
    finish(await (await load()).checkAll(options)),
  )
}

function addBench(program: Command, finish: Finish): void {
  const command = program
    .command('bench')
    .description(
      'measure each rung next to the floor of this machine, or what copies, the pool, the API, dialects, the gateway, the agent or the CLI cost',
    )
    .argument('[suite]', 'rungs, fork, pool, api, dialects, gateway, gateway-load, agent or cli', 'rungs')
    .option('--rung <name>', 'only this rung (repeatable)', collectWord)
    .option('--quick', 'fewer samples')
  common(command).action(async (suite: string, options: CommonOptions & { quick?: boolean; rung?: string[] }) =>
    finish(await (await import('../commands/bench.ts')).bench(suite, options)),
  )
}
