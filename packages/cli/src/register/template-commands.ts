import type { Command } from 'commander'
import type { TemplateOptions } from '../commands/template.ts'
import { examples, remote, type Finish } from './common.ts'

/** The roots of the server's host, or without a server those of this machine. */
export function addTemplateCommands(program: Command, finish: Finish): void {
  const template = program
    .command('template')
    .description("the roots that sandboxes start from: the server's, or without a server those of this machine")
    .helpCommand(false)
  const load = () => import('../commands/template.ts')
  const quiet = 'no progress; the name alone'
  const build = remote(template.command('build').description('build or pull a template now'), quiet)
    .argument('<name>', 'debian, code-interpreter, or an image (registry/name:tag, archive:PATH on its host)')
    .option('--force', 'build it anew although it exists')
    .option('--registry-user <name>', 'for a private registry; its password comes from standard input or a prompt')
    .action(async (name: string, options: TemplateOptions) => finish(await (await load()).buildTemplate(name, options)))
  examples(build, [
    'hearth template build debian',
    'hearth template build registry.example.com/team/tools:2',
    'hearth template build registry.example.com/team/private:1 --registry-user ci < password.txt',
  ])
  remote(template.command('ls').description('list the templates'), 'names alone, one per line').action(
    async (options: TemplateOptions) => finish(await (await load()).listTemplates(options)),
  )
  remote(template.command('rm').description('remove built templates'), 'names alone, one per line')
    .argument('<names...>', 'what `hearth template ls` shows')
    .action(async (names: string[], options: TemplateOptions) =>
      finish(await (await load()).removeTemplates(names, options)),
    )
}
