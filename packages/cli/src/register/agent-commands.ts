import type { Prices } from '@hearth/agent'
import { InvalidArgumentError, Option, type Command } from 'commander'
import type { AgentCommandOptions } from '../commands/agent.ts'
import type { BestOfCommandOptions } from '../commands/search/best-of.ts'
import type { ResumeCommandOptions } from '../commands/agent-resume.ts'
import type { RunListOptions } from '../commands/agent-runs.ts'
import { collectPair, collectWord, parseCount, parseDuration } from '../options/quantity.ts'
import { addHookOptions, addRuleOptions } from '../options/rule-options.ts'
import { addSandboxOptions } from '../options/sandbox-options.ts'
import type { ServerOptions } from '../server/with-server.ts'
import { examples, remote, type Finish } from './common.ts'
import { addBestOfOptions } from './search-commands.ts'

const RUN = 'its id, or at least 4 characters of the beginning or end of it'
/** As the contract has it, which `--help` does not wait for. */
const MOST_LEVELS = 8
const loadRuns = () => import('../commands/agent-runs.ts')
const loadResume = () => import('../commands/agent-resume.ts')

/** A coding agent that works in a sandbox, and the runs of it that a server keeps. */
export function addAgentCommands(program: Command, finish: Finish): void {
  program.commandsGroup('Agent:')
  const command = program
    .command('agent')
    .description('let a model work on a copy of a directory in a fresh sandbox; the result is a patch or a branch')
    .argument('<task>', 'what is to be done')
    .enablePositionalOptions()
    .helpCommand(false)
    .addHelpText('after', AFTERWORD)
    .action(async (task: string, options: AgentCommandOptions | BestOfCommandOptions) => {
      if ('bestOf' in options) {
        return finish(await (await import('../commands/search/best-of.ts')).agentBestOf(task, options))
      }
      const { requireBestOf } = await import('../commands/search/judging.ts')
      requireBestOf(options)
      finish(await (await import('../commands/agent.ts')).agent(task, options))
    })
  addWorkOptions(command)
  addRuleOptions(command)
  addBestOfOptions(command)
  remote(addSandboxOptions(command, 'the longest that one command may take (default: 30m)'), 'nothing but the change')
  examples(command, [
    'hearth agent "fix the failing test" --verify "npm test"',
    'hearth agent "fix the failing test" --best-of 5 --verify "npm test" --prepare "npm ci"',
    'hearth agent "port the three parsers to TypeScript" --delegate --verify "npm test"',
    'hearth agent "add a --verbose option" --repo ../tool --model openai:gpt-6.1-sol --branch verbose',
    'hearth agent "fix the failing test" --repo https://github.com/owner/name --verify "npm test" --pr',
    'hearth agent "try it out" --model scripted:script.json --json',
    'hearth agent steer 8f3k "leave the tests as they are"',
  ])
  addRunCommands(command, finish)
  addControlCommands(command, finish)
}

const AFTERWORD =
  '\nEnds with 0 when a change was submitted and passed its check, else with 1; what was changed is given in\n' +
  'any case. --json gives one event per line, and the result at the end. Keys are read from\n' +
  'ANTHROPIC_API_KEY, OPENAI_API_KEY and OPENAI_COMPATIBLE_API_KEY (with OPENAI_COMPATIBLE_URL and\n' +
  'OPENAI_COMPATIBLE_MODEL). Where a server runs it keeps the run, with --best-of one for each attempt: it can be\n' +
  'watched, steered, paused, stopped and, when this program dies, resumed. Without one it ends with this program.\n' +
  'A URL, --workspace and --pr need a server: it checks the repository out, and commits and pushes with a\n' +
  'secret of its own (`hearth repo add URL --secret NAME`; a key for git@host:path), which no sandbox sees. Only what was submitted\n' +
  'is pushed; anything else stays in the workspace. --permission bash=ask asks on the terminal, and refuses where\n' +
  'there is none. A hook gets {"event", "tool", "input", "result"} as JSON on its standard input; before a call\n' +
  'it refuses with an exit code or {"deny": "why"} and changes it with {"input": ...}, after it {"text": "..."}\n' +
  'changes what the model is told. Rules stay with a run that is resumed; hooks must be given again.'

/** Where it works, with what, and where the change goes. */
function addWorkOptions(command: Command): Command {
  command
    .option('--repo <where>', 'a directory, which is copied and never changed (default: the current one), or a URL')
    .option('--workspace <id>', 'go on in this workspace of the server')
    .option('--ref <name>', 'a branch, a tag or a commit of the repository (default: the default branch)')
    .option('--from <snapshot>', 'begin with a snapshot of the server; a directory is copied only when --repo names it')
  return addLimitOptions(command)
    .option('--diff [file]', 'write the patch there, or to standard output, which is the default')
    .option('--branch <name>', 'write the change as a commit on a new branch; of a URL or a workspace, push it')
    .option('--pr', 'push the change and ask for a merge; a directory is worked on as its `origin` has it')
    .option('--base <branch>', 'where the pull request goes to (default: the default branch)')
}

function addLimitOptions(command: Command): Command {
  return command
    .option('--model <name>', 'anthropic:NAME, openai:NAME, openai-compatible:URL#NAME or scripted:FILE')
    .option('--context-tokens <number>', 'tokens that the model takes (default: a safe value for its kind)', parseCount)
    .option('--verify <command>', 'a command that must succeed before the work counts')
    .option(
      '--secret <NAME[=ENV]>',
      'a secret of the server, with its placeholder in this variable (repeatable)',
      collectWord,
    )
    .option('--max-steps <number>', 'calls of the model (default: 60)', parseCount)
    .option('--max-cost <dollars>', 'what the model may cost (default: 5)', parseDollars)
    .option('--price <NAME=IN/OUT>', 'of a model, in dollars for a million tokens (repeatable)', collectPrice)
    .option('--max-time <duration>', 'how long it may take (default: 1h)', parseDuration)
    .option('--max-tokens <number>', 'tokens that the model may read and write (default: 5000000)', parseCount)
    .addOption(
      new Option('--delegate [depth]', 'let it give parts of the work to sub-agents, so many levels deep (default: 1)')
        .argParser(parseDepth)
        .conflicts('bestOf'),
    )
}

function addRunCommands(agent: Command, finish: Finish): void {
  remote(agent.command('ls').description('list the runs that the server keeps, newest first'))
    .option('--state <name>', 'running, paused or stopped')
    .option('--meta <KEY=VALUE>', 'only those with this label (repeatable)', collectPair)
    .action(async (options: RunListOptions) => finish(await (await loadRuns()).listRuns(options)))
  remote(agent.command('show').description('show one run, and what came of it'))
    .argument('<run>', RUN)
    .option('--diff', 'its patch alone')
    .action(async (name: string, options: ServerOptions & { diff?: boolean }) =>
      finish(await (await loadRuns()).showRun(name, options)),
    )
  remote(agent.command('replay').description('what happened in a run, from its beginning'))
    .argument('<run>', RUN)
    .option('-f, --follow', 'as it happens, to its end')
    .action(async (name: string, options: ServerOptions & { follow?: boolean }) =>
      finish(await (await loadRuns()).replayRun(name, options)),
    )
  const resume = remote(agent.command('resume').description('go on with a run that is paused, or that nobody works on'))
    .argument('<run>', RUN)
    .option('--model <name>', 'another model than before')
    .option('--context-tokens <number>', 'tokens that it takes (default: a safe value for its kind)', parseCount)
    .option('--price <NAME=IN/OUT>', 'of a model, in dollars for a million tokens (repeatable)', collectPrice)
    .option('--diff [file]', 'write the patch there, or to standard output, which is the default')
    .option('--repo <directory>', 'where --branch is written (default: the current one)')
    .option('--branch <name>', 'write the change as a commit on a new branch; from a workspace, push it')
    .option('--pr', 'push the change from its workspace and ask for a merge')
    .option('--base <branch>', 'where the pull request goes to (default: the default branch)')
    .option('--force', 'also when another may be at work: what that one writes is refused from then on')
    .action(async (name: string, options: ResumeCommandOptions) =>
      finish(await (await loadResume()).resumeRun(name, options)),
    )
  addHookOptions(resume)
  examples(resume, ['hearth agent resume 8f3k --branch fix'])
}

function addControlCommands(agent: Command, finish: Finish): void {
  remote(agent.command('steer').description('tell the model something before its next reply'))
    .argument('<run>', RUN)
    .argument('<message>', 'what it is told')
    .action(async (name: string, message: string, options: ServerOptions) =>
      finish(await (await loadRuns()).tellRun(name, 'steer', message, options)),
    )
  remote(agent.command('pause').description('let a run stand still after what it does now'))
    .argument('<run>', RUN)
    .action(async (name: string, options: ServerOptions) =>
      finish(await (await loadRuns()).tellRun(name, 'pause', '', options)),
    )
  remote(agent.command('stop').description('end a run at once; what it has changed is kept with it'))
    .argument('<run>', RUN)
    .argument('[reason]', 'why', '')
    .action(async (name: string, reason: string, options: ServerOptions) =>
      finish(await (await loadResume()).stopRun(name, reason, options)),
    )
}

/** `openai:gpt-6-sol=2/10` */
function collectPrice(text: string, previous: Prices = {}): Prices {
  const [, name, input, output] = /^(\S+:\S*)=(\d{1,6}(?:\.\d{1,6})?)\/(\d{1,6}(?:\.\d{1,6})?)$/.exec(text) ?? []
  if (name === undefined)
    throw new InvalidArgumentError('It must be a model and two prices, like openai:gpt-6-sol=2/10.')
  return { ...previous, [name]: { input: Number(input), output: Number(output) } }
}

function parseDepth(text: string): number {
  if (/^\d$/.test(text) && Number(text) >= 1 && Number(text) <= MOST_LEVELS) return Number(text)
  throw new InvalidArgumentError(`It must be a number of levels from 1 to ${MOST_LEVELS}.`)
}

function parseDollars(text: string): number {
  if (/^\d{1,6}(\.\d{1,4})?$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be an amount in dollars, like 2 or 0.50.')
}
