import { Command, InvalidArgumentError } from 'commander'
import { addSandboxOptions, type SandboxOptions } from './options/sandbox-options.ts'
import { version } from './version.ts'

/** What every command may be told. */
interface CommonOptions {
  readonly json?: boolean
  readonly quiet?: boolean
}

/** The commands and their options. What a command does is imported when it runs, so that help and mistakes are answered at once. */
export function makeProgram(finish: (exitCode: number) => void): Command {
  const program = new Command('hearth')
    .description('Every AI agent gets its own computer: isolated, disposable, self-hosted.')
    .version(version(), '--version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
  addUp(program, finish)
  addDoctor(program, finish)
  addRun(program, finish)
  addShell(program, finish)
  addTemplate(program, finish)
  addBench(program, finish)
  return program
}

function addUp(program: Command, finish: (exitCode: number) => void): void {
  program
    .command('up')
    .description('run the server in the foreground: the same sandboxes over HTTP, kept across restarts')
    .option('--port <number>', 'where to listen (default: 7070)', parsePort)
    .option('--host <address>', 'default 127.0.0.1; elsewhere only when there is a key')
    .option('--database <url>', 'sqlite:PATH or postgres://... (default: hearth.db in HEARTH_HOME)')
    .action(async (options: { port?: number; host?: string; database?: string }) =>
      finish(await (await import('./commands/up.ts')).up(options)),
    )
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : -1
  if (port < 0 || port > 65_535) throw new InvalidArgumentError('must be a number from 0 to 65535.')
  return port
}

function addDoctor(program: Command, finish: (exitCode: number) => void): void {
  common(program.command('doctor').description('show which rungs of isolation work here, why not, and the fix')).action(
    async (options: CommonOptions) => finish(await (await import('./commands/doctor.ts')).doctor(options)),
  )
}

function addRun(program: Command, finish: (exitCode: number) => void): void {
  const command = program
    .command('run')
    .description('run one command in a fresh sandbox; its input, output, signals and exit code pass through')
    .usage('[options] [--] <command> [arguments...]')
    .argument('<command...>', 'the program and its arguments')
    .passThroughOptions()
    .addHelpText(
      'after',
      '\nEnds with the exit code of the command, 124 after a timeout, 127 when there is no such\ncommand, 125 when Hearth itself failed.\n' +
        "\n  hearth run --at-least gvisor -- python3 -c 'print(2+2)'\n  echo hi | hearth run --memory 256M -- wc -c",
    )
  common(addSandboxOptions(command)).action(async (words: string[], options: SandboxOptions & CommonOptions) =>
    finish(await (await import('./commands/run.ts')).run(words, options)),
  )
}

function addShell(program: Command, finish: (exitCode: number) => void): void {
  const command = program
    .command('shell')
    .description('a terminal in a fresh sandbox')
    .usage('[options] [--] [command] [arguments...]')
    .argument('[command...]', 'another program than the shell')
    .passThroughOptions()
    .option('-q, --quiet', 'say nothing about the sandbox')
  addSandboxOptions(command).action(async (words: string[], options: SandboxOptions & CommonOptions) =>
    finish(await (await import('./commands/shell.ts')).shell(words, options)),
  )
}

function addTemplate(program: Command, finish: (exitCode: number) => void): void {
  const template = program.command('template').description('the roots that sandboxes start from').helpCommand(false)
  const load = () => import('./commands/template.ts')
  common(template.command('build').description('build or pull a template now'))
    .argument('<name>', 'debian, code-interpreter, or an image (registry/name:tag, archive:PATH)')
    .option('--force', 'build it anew although it exists')
    .action(async (name: string, options: CommonOptions) => finish(await (await load()).buildTemplate(name, options)))
  common(template.command('ls').description('list the templates')).action(async (options: CommonOptions) =>
    finish(await (await load()).listTemplates(options)),
  )
  common(template.command('rm').description('remove built templates'))
    .argument('<names...>', 'what `hearth template ls` shows')
    .action(async (names: string[], options: CommonOptions) =>
      finish(await (await load()).removeTemplates(names, options)),
    )
}

function addBench(program: Command, finish: (exitCode: number) => void): void {
  const command = program
    .command('bench')
    .description('measure each rung next to the floor of this machine, or what the API costs')
    .argument('[suite]', 'rungs or api', 'rungs')
    .option('--rung <name>', 'only this rung (repeatable)', (name: string, previous: string[] | undefined) => [
      ...(previous ?? []),
      name,
    ])
    .option('--quick', 'fewer samples')
  common(command).action(async (suite: string, options: CommonOptions & { quick?: boolean; rung?: string[] }) =>
    finish(await (await import('./commands/bench.ts')).bench(suite, options)),
  )
}

function common(command: Command): Command {
  return command
    .option('--json', 'one JSON value on standard output')
    .option('-q, --quiet', 'no progress; names alone where there is a list')
}
