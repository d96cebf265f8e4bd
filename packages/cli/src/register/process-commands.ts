import { InvalidArgumentError, type Command } from 'commander'
import type { ExecOptions } from '../commands/exec.ts'
import type { LogsOptions } from '../commands/logs.ts'
import type { RemoteShellOptions } from '../commands/remote-shell.ts'
import { collectPair, parseCount, parseDuration } from '../options/quantity.ts'
import { addPolicyOptions } from '../options/policy-options.ts'
import { addSandboxOptions, type SandboxOptions } from '../options/sandbox-options.ts'
import type { ServerOptions } from '../server/with-server.ts'
import { examples, parseAroundId, remote, type Finish } from './common.ts'

const ID = 'of a sandbox, or at least 4 characters of its beginning or end'

/** Commands and terminals in sandboxes of the server. */
export function addProcessCommands(program: Command, finish: Finish): void {
  program.commandsGroup('In a sandbox:')
  addExec(program, finish)
  addShell(program, finish)
  addLogs(program, finish)
  addPs(program, finish)
  addKill(program, finish)
}

function addExec(program: Command, finish: Finish): void {
  const verb = program
    .command('exec')
    .description('run a command in a sandbox; its output, signals and exit code pass through')
    .usage('<id> [options] [--] <command> [arguments...]')
    .argument('<id>', ID)
    .argument('<command...>', 'the program and its arguments')
    .passThroughOptions()
    .addHelpText(
      'after',
      '\nEnds with the exit code of the command, 124 after a timeout, 127 when there is no such\ncommand, 125 when Hearth itself failed. On a terminal (-i -t), ~. at the beginning of a\nline leaves the command running.',
    )
  examples(execOptions(verb), [
    'hearth exec ID -- ls -l /',
    'echo hi | hearth exec ID -i -- wc -c',
    'hearth exec ID -i -t -- bash',
    'hearth exec ID --detach -- python3 -m http.server 8000',
    'hearth exec ID --allow pypi.org --allow files.pythonhosted.org -- pip install numpy',
  ])
  verb.action(async () => {
    const { id, command, options } = parseAroundId<ExecOptions>(verb, execOptions)
    // What follows `--` is the command: its first word is not looked for among sandboxes.
    if (afterSeparator(verb) === verb.args.length) verb.error("error: missing required argument 'id'", { exitCode: 1 })
    // The same words as when commander finds out by itself.
    if (command.length === 0) verb.error("error: missing required argument 'command'", { exitCode: 1 })
    finish(await (await import('../commands/exec.ts')).exec(id, command, options))
  })
}

function execOptions(command: Command): Command {
  command
    .option('-i, --interactive', 'pass standard input on')
    .option('-t, --tty', 'a terminal: with -i that of the caller')
    .option('-d, --detach', 'leave it running and print its number, for logs, ps and kill')
  addPolicyOptions(command, 'at the most, of what the sandbox may')
  return remote(commandOptions(command), 'nothing but the output of the command')
}

function commandOptions(command: Command): Command {
  return command
    .option('--env <KEY=VALUE>', 'an environment variable (repeatable)', collectPair)
    .option('--workdir <path>', 'working directory inside')
    .option('--user <name>', 'user inside')
    .option('--timeout <duration>', 'end the command after this time, like 30s or 10m', parseDuration)
    .option('--step <name>', 'what `hearth events` calls the step that it belongs to')
}

function addShell(program: Command, finish: Finish): void {
  const verb = program
    .command('shell')
    .description('a terminal: in a sandbox of the server, or without ID in a fresh one')
    .usage('[id] [options] [-- command [arguments...]]')
    .argument('[id]', `${ID}; without, a fresh sandbox that is gone at the end`)
    .argument('[command...]', 'another program than the shell')
    .passThroughOptions()
    .addHelpText(
      'after',
      '\nIn a sandbox of the server, ~. at the beginning of a line leaves the shell running; so does\nclosing the window. --attach takes it up again.',
    )
  examples(shellOptions(verb), [
    'hearth shell',
    'hearth shell --at-least gvisor --template debian',
    'hearth shell ID',
    'hearth shell ID --attach 3',
  ])
  verb.action(async (_id: string | undefined, _words: string[], options: SandboxOptions & ServerOptions) => {
    const fresh = verb.args.length === afterSeparator(verb)
    if (fresh) return finish(await (await import('../commands/shell.ts')).shell(verb.args, options))
    const found = parseAroundId<RemoteShellOptions>(verb, shellOptions)
    finish(await (await import('../commands/remote-shell.ts')).remoteShell(found.id, found.command, found.options))
  })
}

/** How many words follow the first `--`. */
function afterSeparator(verb: Command): number {
  const given = verb.parent?.args ?? []
  const separator = given.indexOf('--')
  return separator === -1 ? 0 : given.length - separator - 1
}

function shellOptions(command: Command): Command {
  return addSandboxOptions(command)
    .option('--attach <process>', 'take up a terminal of the sandbox that was left', parseCount)
    .option('-q, --quiet', 'say nothing about the sandbox')
}

function addLogs(program: Command, finish: Finish): void {
  const command = remote(
    program.command('logs').description('what a process has written'),
    'do not say what was no longer kept',
  )
    .argument('<id>', ID)
    .argument('[process]', 'a number that `hearth ps` shows (default: the newest that runs)', parseCount)
    .option('-f, --follow', 'go on until it ends')
    .option('--offset <bytes>', 'begin there', parseOffset)
    .action(async (id: string, process: number | undefined, options: LogsOptions) =>
      finish(await (await import('../commands/logs.ts')).logs(id, process, options)),
    )
  examples(command, ['hearth logs ID', 'hearth logs ID 3 -f'])
}

function addPs(program: Command, finish: Finish): void {
  remote(program.command('ps').description('list the processes that were started in a sandbox'), 'their numbers alone')
    .argument('<id>', ID)
    .option('-a, --all', 'also those that have ended')
    .action(async (id: string, options: ServerOptions & { all?: boolean }) =>
      finish(await (await import('../commands/processes.ts')).listProcesses(id, options)),
    )
}

function addKill(program: Command, finish: Finish): void {
  const command = remote(program.command('kill').description('signal processes in a sandbox; rm ends the sandbox'))
    .argument('<id>', ID)
    .argument('<processes...>', 'numbers that `hearth ps` shows', (text: string, previous: number[] | undefined) => [
      ...(previous ?? []),
      parseCount(text),
    ])
    .option('-s, --signal <name>', 'like INT or KILL; KILL also ends what they started (default: TERM)')
    .action(async (id: string, processes: number[], options: ServerOptions & { signal?: string }) =>
      finish(await (await import('../commands/processes.ts')).killProcesses(id, processes, options)),
    )
  examples(command, ['hearth kill ID 3', 'hearth kill ID 3 4 --signal KILL'])
}

function parseOffset(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a number of bytes.')
}
