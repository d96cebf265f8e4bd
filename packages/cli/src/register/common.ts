import { Command } from 'commander'
import { parsePort } from '../options/port-spec.ts'

/** Called with what the program ends with. */
export type Finish = (exitCode: number) => void

/** What every command may be told. */
export interface CommonOptions {
  readonly json?: boolean
  readonly quiet?: boolean
}

export function common(command: Command, quiet = 'no progress; names alone where there is a list'): Command {
  return command.option('--json', 'one JSON value on standard output').option('-q, --quiet', quiet)
}

/** For commands that ask the server. */
export function remote(command: Command, quiet = 'ids alone, one per line'): Command {
  return common(command, quiet).option(
    '--port <number>',
    'of a server on this machine (default: the running one)',
    parsePort,
  )
}

export function examples(command: Command, lines: readonly string[]): Command {
  return command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`)
}

export interface WordsAfterId<Options> {
  readonly id: string
  readonly command: string[]
  readonly options: Options
}

/**
 * `VERB [options] ID [options] [--] COMMAND...`: options may stand on both sides of the identifier, and from the command's first word on
 * everything belongs to the command. Commander stops at the identifier; what is around it is parsed once more without it.
 */
export function parseAroundId<Options>(
  verb: Command,
  addOptions: (command: Command) => Command,
): WordsAfterId<Options> {
  const [id = '', ...after] = verb.args
  const given = verb.parent?.args.slice(1) ?? []
  const before = given.slice(0, given.length - verb.args.length)
  const second = addOptions(
    new Command(verb.name()).usage(verb.usage()).description(verb.description()).argument('[command...]'),
  )
    .passThroughOptions()
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
  if (verb.parent !== null) second.copyInheritedSettings(verb.parent)
  second.on('option:json', () => verb.setOptionValue('json', true))
  second.parse([...before, ...after], { from: 'user' })
  return { id, command: second.args, options: second.opts<Options & object>() as Options }
}
