import type { Argument, Command } from 'commander'
import { bashScript } from '../completion/bash.ts'
import { fishScript } from '../completion/fish.ts'
import type { Verb } from '../completion/verb.ts'
import { zshScript } from '../completion/zsh.ts'
import { write } from '../output/write.ts'

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const

/** Says what there is to complete, from the commands themselves, in the language of the shell. */
export async function completion(program: Command, shell: keyof typeof SCRIPTS): Promise<number> {
  const verbs = program.commands.flatMap((command) => [
    verbOf(command.name(), command),
    ...command.commands.map((inner) => verbOf(`${command.name()} ${inner.name()}`, inner)),
  ])
  await write(process.stdout, SCRIPTS[shell](verbs))
  return 0
}

function verbOf(words: string, command: Command): Verb {
  const options = command.options.map(({ short, long, description, required }) => ({
    short: short ?? null,
    long: long ?? '',
    description,
    takesValue: required,
  }))
  const [first] = command.registeredArguments
  return {
    words,
    description: command.description(),
    options: [...options, { short: '-h', long: '--help', description: 'show help', takesValue: false }],
    completes: command.name() === 'cp' ? 'paths' : first === undefined ? 'nothing' : kindOf(words, first),
    choices: CHOICES[words] ?? [],
  }
}

/** What stands for the first argument, where it is one of few words. */
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  completion: ['bash', 'zsh', 'fish'],
  bench: ['rungs', 'fork', 'pool', 'api', 'dialects', 'gateway', 'gateway-load', 'agent', 'cli'],
  'template build': ['debian', 'code-interpreter'],
}

/** What an argument of this name is. */
const KINDS: Readonly<Record<string, Verb['completes']>> = {
  id: 'sandboxes',
  ids: 'sandboxes',
  parent: 'sandboxes',
  snapshot: 'snapshots',
  snapshots: 'snapshots',
  volume: 'volumes',
  volumes: 'volumes',
  repository: 'repositories',
  repositories: 'repositories',
  workspace: 'workspaces',
  workspaces: 'workspaces',
}

function kindOf(words: string, argument: Argument): Verb['completes'] {
  if (words === 'template rm') return 'templates'
  if (words.startsWith('key')) return words === 'key revoke' ? 'keys' : 'nothing'
  return KINDS[argument.name()] ?? 'nothing'
}
