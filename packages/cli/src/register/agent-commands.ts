import { InvalidArgumentError, type Command } from 'commander'
import type { AgentCommandOptions } from '../commands/agent.ts'
import type { BestOfCommandOptions } from '../commands/search/best-of.ts'
import { parseCount, parseDuration } from '../options/quantity.ts'
import { addSandboxOptions } from '../options/sandbox-options.ts'
import { common, examples, type Finish } from './common.ts'
import { addBestOfOptions } from './search-commands.ts'

/** A coding agent that works in a sandbox of this machine. */
export function addAgentCommands(program: Command, finish: Finish): void {
  program.commandsGroup('Agent:')
  const command = program
    .command('agent')
    .description('let a model work on a copy of a directory in a fresh sandbox; the result is a patch')
    .argument('<task>', 'what is to be done')
    .option('--repo <directory>', 'what it works on; it is copied and never changed (default: the current one)')
    .option('--model <name>', 'anthropic:NAME, openai:NAME, openai-compatible:URL#NAME or scripted:FILE')
    .option('--verify <command>', 'a command that must succeed before the work counts')
    .option('--max-steps <number>', 'calls of the model (default: 60)', parseCount)
    .option('--max-cost <dollars>', 'what the model may cost (default: 5)', parseDollars)
    .option('--max-time <duration>', 'how long it may take (default: 1h)', parseDuration)
    .option('--diff <file>', 'write the patch there instead of to standard output')
    .addHelpText(
      'after',
      '\nEnds with 0 when a change was submitted and passed its check, else with 1; the patch is given in\n' +
        'any case, for `git apply`. --json gives one event per line, and the result at the end. Keys are\n' +
        'read from ANTHROPIC_API_KEY, OPENAI_API_KEY and OPENAI_COMPATIBLE_API_KEY.',
    )
    .action(async (task: string, options: AgentCommandOptions | BestOfCommandOptions) => {
      if ('bestOf' in options) {
        return finish(await (await import('../commands/search/best-of.ts')).agentBestOf(task, options))
      }
      const { requireBestOf } = await import('../commands/search/judging.ts')
      requireBestOf(options)
      finish(await (await import('../commands/agent.ts')).agent(task, options))
    })
  addBestOfOptions(command)
  common(addSandboxOptions(command, 'the longest that one command may take (default: 30m)'), 'nothing but the patch')
  examples(command, [
    'hearth agent "fix the failing test" --verify "npm test"',
    'hearth agent "fix the failing test" --best-of 5 --verify "npm test" --prepare "npm ci"',
    'hearth agent "add a --verbose option" --repo ../tool --model openai:gpt-5 --diff change.patch',
    'hearth agent "try it out" --model scripted:script.json --json',
  ])
}

function parseDollars(text: string): number {
  if (/^\d{1,6}(\.\d{1,4})?$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be an amount in dollars, like 2 or 0.50.')
}
