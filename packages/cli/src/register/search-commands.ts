import { InvalidArgumentError, type Command } from 'commander'
import type { SearchCommandOptions } from '../commands/search/search.ts'
import { collectPair, collectWord, parseCount } from '../options/quantity.ts'
import { parsePort } from '../options/port-spec.ts'
import { addSandboxOptions } from '../options/sandbox-options.ts'
import { common, examples, type Finish } from './common.ts'

/** Several changes side by side, and the one that passes. */
export function addSearchCommands(program: Command, finish: Finish): void {
  const command = program
    .command('search')
    .description('try patches and commands in forks of one machine, and keep the one that passes')
    .argument('[patches...]', 'files with patches, as of `git diff`')
    .option('--try <command>', 'a command whose change is tried (repeatable)', collectWord)
    .option('--repo <directory>', 'what they change; it is copied and never changed (default: the current one)')
    .option('--from <snapshot>', 'begin with a snapshot of the server instead of a fresh sandbox')
    .option('--sandbox <id>', 'begin with a sandbox of the server, as it is; it is not changed')
    .option('--port <number>', 'of a server on this machine, where its machines are made then', parsePort)
    .option('--verify <command>', 'must still pass, or pass in the end if it fails now')
    .option('--diff <file>', 'write the patch of the winner there')
  addJudgingOptions(command)
    .addHelpText(
      'after',
      '\nEach change is judged in clean forks: everything that passes without it must pass with it, and the\n' +
        'target too, twice. What is flaky without a change does not count; edits of tests do not either. Of\n' +
        'those that pass the one that most came to wins, then the smaller one. Ends with 0 when there is a\n' +
        'winner and with 1 when there is none.',
    )
    .action(async (patches: string[], options: SearchCommandOptions) =>
      finish(await (await import('../commands/search/search.ts')).search(patches, options)),
    )
  common(
    addSandboxOptions(command, 'the longest that one check may take (default: 30m)'),
    'the name of the winner alone',
  )
  examples(command, [
    'hearth search fix-*.patch --verify "npm test"',
    'hearth search --try "sed -i s/a/b/ x.py" --try "sed -i s/a/c/ x.py" --target "python3 check.py" --diff best.patch',
    'hearth search a.patch b.patch --sandbox ID --workdir /srv/app --check unit="make unit" --check lint="make lint"',
  ])
}

/** What `search` and `agent --best-of` judge by. */
export function addJudgingOptions(command: Command): Command {
  return command
    .option('--target <command>', 'must fail now, and pass in the end')
    .option('--check <NAME=COMMAND>', 'a further check like --verify (repeatable)', collectPair)
    .option(
      '--probe <command>',
      'its output tells apart what passes: the answer of the most wins (repeatable)',
      collectWord,
    )
    .option(
      '--protect <path>',
      'judged as it is now, as tests are; with / at the end all below (repeatable)',
      collectWord,
    )
    .option('--prepare <command>', 'run once before anything is tried, like npm install')
    .option('--wave <number>', 'try so many at first, and as many more while none passes', parseCount)
    .option('--enough <number>', 'end the others when so many have passed', parseCount)
}

/** What is only for several attempts of the agent. */
export function addBestOfOptions(command: Command): Command {
  return addJudgingOptions(
    command
      .option(
        '--best-of <number>',
        'up to so many attempts side by side, two at first; needs --verify, --target or --check',
        parseCount,
      )
      .option('--with-model <name>', 'a further model: the attempts take turns (repeatable)', collectWord)
      .option('--temperature <number>', 'of the attempts in turn (repeatable)', collectTemperature)
      .option('--judge-model <name>', 'compares the changes that pass equally well')
      .option('--tree', 'when all have failed, go on from where the best of them began to fail'),
  )
}

function collectTemperature(text: string, previous: readonly number[] = []): number[] {
  if (/^[01](\.\d{1,3})?$|^2$/.test(text)) return [...previous, Number(text)]
  throw new InvalidArgumentError('It must be a number from 0 to 2.')
}
