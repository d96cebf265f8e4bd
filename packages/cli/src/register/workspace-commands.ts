import { Option, type Command } from 'commander'
import type { AddOptions, HostKeyOptions } from '../commands/repositories.ts'
import type { CommitOptions, DiffOptions, PullRequestOptions, PushOptions } from '../commands/workspace-git.ts'
import type { CollectOptions, NewWorkspaceOptions } from '../commands/workspaces.ts'
import { collectWord, parseDuration, parseSize } from '../options/quantity.ts'
import type { ServerOptions } from '../server/with-server.ts'
import { examples, remote, type Finish } from './common.ts'

const REPOSITORY = 'its id, at least 4 characters of it, or its address'
const WORKSPACE = 'its id, or at least 4 characters of its beginning or end'
const loadRepositories = () => import('../commands/repositories.ts')
const load = () => import('../commands/workspaces.ts')
const loadGit = () => import('../commands/workspace-git.ts')

/** Repositories, cached once, and durable checkouts of them. */
export function addWorkspaceCommands(program: Command, finish: Finish): void {
  program.commandsGroup('Repositories and workspaces:')
  addRepositories(program, finish)
  const group = program
    .command('workspace')
    .description('durable checkouts, which outlive every sandbox that works in them')
    .helpCommand(false)
  addCreate(group, finish)
  remote(group.command('ls').description('list the workspaces, newest first')).action(async (options: ServerOptions) =>
    finish(await (await load()).listWorkspaces(options)),
  )
  remote(group.command('get').description('show one workspace'))
    .argument('<workspace>', WORKSPACE)
    .action(async (name: string, options: ServerOptions) => finish(await (await load()).getWorkspace(name, options)))
  addLooks(group, finish)
  addGit(group, finish)
  addCare(group, finish)
}

function addRepositories(program: Command, finish: Finish): void {
  const group = program.command('repo').description('repositories, each cached once').helpCommand(false)
  const add = remote(group.command('add').description('make a repository known, and clone it'), 'its id alone')
    .argument('<address>', 'https://..., ssh://..., git@host:path or a directory of the host of the server')
    .option(
      '--secret <name>',
      'the secret that opens it, bound to its host with --basic, or --ssh for an address of ssh',
    )
    .addOption(
      new Option('--forge <kind>', 'whose pull requests it has (known for their own hosts)').choices([
        'github',
        'gitlab',
      ]),
    )
    .option('--forge-api <url>', 'where the API of the forge is, with --forge')
    .option('--forge-secret <name>', 'the secret for pull requests, bound with --basic, where that is another one')
    .action(async (address: string, options: AddOptions) =>
      finish(await (await loadRepositories()).addRepository(address, options)),
    )
  examples(add, [
    'hearth repo add https://github.com/owner/name',
    'hearth repo add .',
    'hearth secret set github --for github.com --basic && hearth repo add https://github.com/owner/private --secret github',
    'hearth secret set deploy --for github.com --ssh < ~/.ssh/deploy && hearth repo add git@github.com:owner/private --secret deploy',
  ])
  remote(group.command('ls').description('list the repositories, newest first')).action(
    async (options: ServerOptions) => finish(await (await loadRepositories()).listRepositories(options)),
  )
  remote(group.command('get').description('show one repository'))
    .argument('<repository>', REPOSITORY)
    .action(async (name: string, options: ServerOptions) =>
      finish(await (await loadRepositories()).getRepository(name, options)),
    )
  remote(group.command('fetch').description('bring their caches up to date'))
    .argument('<repositories...>', REPOSITORY)
    .action(async (names: string[], options: ServerOptions) =>
      finish(await (await loadRepositories()).fetchRepositories(names, options)),
    )
  remote(group.command('rm').description('forget repositories that no workspace is made of'))
    .argument('<repositories...>', REPOSITORY)
    .action(async (names: string[], options: ServerOptions) =>
      finish(await (await loadRepositories()).removeRepositories(names, options)),
    )
  const keys = remote(
    group.command('host-keys').description('servers known by the key they had when first spoken to with ssh'),
  )
    .option('--forget <host>', 'take whatever key it has the next time (repeatable)', collectWord)
    .action(async (options: HostKeyOptions) => finish(await (await loadRepositories()).hostKeys(options)))
  examples(keys, ['hearth repo host-keys --forget git.example.com'])
  const collect = remote(group.command('gc').description('give up caches that no workspace is made of'))
    .option('--unused <duration>', 'only those that nobody has used for this long (default: 1d)', parseDuration)
    .option('--dry-run', 'say what would go, and let all stay')
    .action(async (options: CollectOptions) =>
      finish(await (await load()).collectWorkspaces({ ...options, workspaces: false })),
    )
  examples(collect, ['hearth repo gc --unused 7d'])
}

function addCreate(group: Command, finish: Finish): void {
  const create = remote(
    group.command('create').description('check a repository out on a branch of its own'),
    'its id alone',
  )
    .argument('<repository>', 'a URL, a directory of the host of the server, or a repository that is known')
    .option('--ref <name>', 'a branch, a tag or a commit (default: the default branch)')
    .option('--branch <name>', 'what it is pushed as (default: hearth/ and the end of its id)')
    .addOption(
      new Option('--fetch <mode>', 'whether the server of the repository is asked first').choices([
        'auto',
        'always',
        'never',
      ]),
    )
    .option('--secret <name>', 'the secret that opens the repository, for one that is not known yet')
    .option('--disk <size>', 'the most that it may hold, like 2G', parseSize)
    .action(async (source: string, options: NewWorkspaceOptions) =>
      finish(await (await load()).createWorkspace(source, options)),
    )
  examples(create, [
    'hearth workspace create https://github.com/owner/name --ref v1.2',
    'hearth create --workspace $(hearth workspace create -q .)',
  ])
}

function addLooks(group: Command, finish: Finish): void {
  remote(group.command('status').description('what has changed in it, found out from its files'), 'paths alone')
    .argument('<workspace>', WORKSPACE)
    .action(async (name: string, options: ServerOptions) =>
      finish(await (await loadGit()).workspaceStatus(name, options)),
    )
  const diff = remote(group.command('diff').description('what has changed in it, as a patch'), 'paths alone')
    .argument('<workspace>', WORKSPACE)
    .addOption(new Option('--since <what>', 'its base (default), or the last commit').choices(['base', 'commit']))
    .option('--stat', 'how many lines of which files, instead of the patch')
    .action(async (name: string, options: DiffOptions) => finish(await (await loadGit()).workspaceDiff(name, options)))
  examples(diff, ['hearth workspace diff ID | git apply'])
}

function addGit(group: Command, finish: Finish): void {
  const commit = remote(
    group.command('commit').description('write its files down as a commit on its branch'),
    'the commit alone',
  )
    .argument('<workspace>', WORKSPACE)
    .requiredOption('-m, --message <text>', 'of the commit')
    .option('--author <name>', 'like "Ada Lovelace <ada@example.com>"')
    .action(async (name: string, options: CommitOptions) =>
      finish(await (await loadGit()).commitWorkspace(name, options)),
    )
  examples(commit, ['hearth workspace commit ID -m "Fix the test" && hearth workspace push ID'])
  remote(group.command('push').description('send the last commit to the server of the repository'), 'the commit alone')
    .argument('<workspace>', WORKSPACE)
    .option('--branch <name>', 'there (default: its own)')
    .option('--force', 'also when the branch has other commits there')
    .action(async (name: string, options: PushOptions) => finish(await (await loadGit()).pushWorkspace(name, options)))
  const request = remote(group.command('pr').description('ask for what was pushed to be merged'), 'its address alone')
    .argument('<workspace>', WORKSPACE)
    .requiredOption('--title <text>', 'of the pull request')
    .option('--body <text>', 'what it says')
    .option('--base <branch>', 'where to (default: the default branch)')
    .option('--draft', 'it is not ready yet')
    .action(async (name: string, options: PullRequestOptions) =>
      finish(await (await loadGit()).openPullRequest(name, options)),
    )
  examples(request, ['hearth workspace pr ID --title "Fix the test" --draft'])
}

function addCare(group: Command, finish: Finish): void {
  remote(group.command('pin').description('never give up their files for room'))
    .argument('<workspaces...>', WORKSPACE)
    .option('--off', 'they may be given up again')
    .action(async (names: string[], options: ServerOptions & { off?: boolean }) =>
      finish(await (await load()).pinWorkspaces(names, options)),
    )
  remote(group.command('rm').description('remove workspaces that no sandbox has, with all that is in them'))
    .argument('<workspaces...>', WORKSPACE)
    .action(async (names: string[], options: ServerOptions) =>
      finish(await (await load()).removeWorkspaces(names, options)),
    )
  const collect = remote(
    group.command('gc').description('give up files that nobody has used for long, least valuable first'),
  )
    .option('--unused <duration>', 'only those that nobody has used for this long (default: 1d)', parseDuration)
    .option('--dirty', 'also those with changes, which are saved as patches')
    .option('--dry-run', 'say what would go, and let all stay')
    .action(async (options: CollectOptions) => finish(await (await load()).collectWorkspaces(options)))
  examples(collect, ['hearth workspace gc --dry-run', 'hearth workspace gc --unused 7d'])
}
