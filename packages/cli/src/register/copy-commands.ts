import type { Command } from 'commander'
import type { DiffOptions } from '../commands/diff.ts'
import type { ForkOptions } from '../commands/fork.ts'
import type { MergeOptions } from '../commands/merge.ts'
import { memoryOption } from '../options/memory-option.ts'
import { addPolicyOptions, addProxyOption } from '../options/policy-options.ts'
import { collectPair, collectWord, parseCount, parseDuration, parseSize } from '../options/quantity.ts'
import type { ServerOptions } from '../server/with-server.ts'
import { examples, remote, type Finish } from './common.ts'

const ID = 'of a sandbox, or at least 4 characters of its beginning or end'

/** Copies of sandboxes, and what became of them. */
export function addCopyCommands(program: Command, finish: Finish): void {
  program.commandsGroup('Forks and snapshots:')
  addFork(program, finish)
  addTree(program, finish)
  addDiff(program, finish)
  addMerge(program, finish)
}

function addFork(program: Command, finish: Finish): void {
  const command = remote(program.command('fork').description('copy a sandbox as it is now; it goes on'))
    .argument('<id>', ID)
    .option('-n, --count <number>', 'how many: all of them are made, or none (default: 1)', parseCount)
    .addOption(memoryOption())
    .option('--env <KEY=VALUE>', 'an environment variable of the copies (repeatable)', collectPair)
    .option('--meta <KEY=VALUE>', "a label, besides the parent's (repeatable)", collectPair)
    .option('--ttl <duration>', "they end after this time (default: the parent's deadline)", parseDuration)
  addProxyOption(addPolicyOptions(command, 'default: what the parent may')).action(
    async (id: string, options: ForkOptions) => finish(await (await import('../commands/fork.ts')).fork(id, options)),
  )
  examples(command, [
    'hearth fork ID',
    'hearth fork ID -n 8 --memory required --ttl 10m',
    'hearth fork ID --allow api.github.com --preset npm',
    'for child in $(hearth fork ID -n 3 -q); do hearth exec $child -- ./try.sh; done',
  ])
}

function addTree(program: Command, finish: Finish): void {
  const command = remote(program.command('tree').description('show which sandbox was forked of which'))
    .argument('[id]', 'only what is related to this one (default: all that live)')
    .action(async (id: string | undefined, options: ServerOptions) =>
      finish(await (await import('../commands/tree.ts')).tree(id, options)),
    )
  examples(command, ['hearth tree', 'hearth tree ID --json'])
}

function addDiff(program: Command, finish: Finish): void {
  const command = remote(
    program.command('diff').description('list the files that were added (A), changed (M) and removed (D)'),
    'paths alone, one per line',
  )
    .argument('<id>', ID)
    .option('--since <point>', 'template, origin (the fork or snapshot that it came from; the default), or a snapshot')
    .option('--path <path>', 'only at or below this (repeatable)', collectWord)
    .option(
      '--content [size]',
      'also what is in added and changed files of up to this size (default: 64K); as base64 with --json',
      parseSize,
    )
    .action(async (id: string, options: DiffOptions) =>
      finish(await (await import('../commands/diff.ts')).diff(id, options)),
    )
  examples(command, [
    'hearth diff ID',
    'hearth diff ID --since template --path /etc --path /srv',
    'hearth diff ID --content 1M',
  ])
}

function addMerge(program: Command, finish: Finish): void {
  const command = remote(
    program.command('merge').description("bring a fork's files back into its parent: all of them, or none"),
    'paths alone, one per line',
  )
    .argument('<parent>', ID)
    .argument('<child>', 'a fork of it')
    .option('--path <path>', 'only what the child changed at or below this (repeatable)', collectWord)
    .addHelpText(
      'after',
      '\nWhat both changed differently since the fork is a conflict (C): then nothing is merged, and\nit ends with 1.',
    )
    .action(async (parent: string, child: string, options: MergeOptions) =>
      finish(await (await import('../commands/merge.ts')).merge(parent, child, options)),
    )
  examples(command, ['hearth merge PARENT CHILD', 'hearth merge PARENT CHILD --path /workspace'])
}
