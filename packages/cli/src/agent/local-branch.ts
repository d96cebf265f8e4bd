import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { HearthError } from '@hearth/contract'
import { git } from '@hearth/engine/git'
import { printable } from '../output/printable.ts'
import { messageOf, type Destination } from './destination.ts'

/** A repository on this machine, and the branch that the change is to be written to. */
export interface LocalBranch {
  readonly directory: string
  readonly name: string
}

const IDENTITY = {
  GIT_AUTHOR_NAME: 'Hearth agent',
  GIT_AUTHOR_EMAIL: 'agent@hearth.invalid',
  GIT_COMMITTER_NAME: 'Hearth agent',
  GIT_COMMITTER_EMAIL: 'agent@hearth.invalid',
} as const

/** Checked before any work is done: a repository at this path, and a branch that is not there yet. */
export async function findBranch(repository: string, name: string): Promise<LocalBranch> {
  const directory = await gitDirectory(repository)
  const wrong = (problem: string): HearthError => new HearthError('invalid_request', `--branch ${name}: ${problem}`)
  await git(['check-ref-format', '--branch', name], { directory, failure: () => wrong('is no name of a branch') })
  await git(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], {
    directory,
    failure: () => wrong('the repository has no commit to begin from'),
  })
  const found = await git(['rev-parse', '--verify', '--quiet', `refs/heads/${name}`], { directory, accept: [0, 1] })
  if (found.length > 0) throw wrong('there is such a branch already')
  return { directory, name }
}

/**
 * Writes the change down as one commit on top of HEAD. SAFETY: neither the files nor the index of the repository are touched, and the patch goes
 * from blobs to blobs, so that no hook, filter or attribute of what the agent wrote is carried out.
 */
async function writeBranch({ directory, name }: LocalBranch, patch: Uint8Array, message: string): Promise<string> {
  const temporary = await mkdtemp(join(tmpdir(), 'hearth-branch-'))
  try {
    const place = { directory, indexFile: join(temporary, 'index') }
    const head = await text(git(['rev-parse', '--verify', 'HEAD^{commit}'], place))
    await git(['read-tree', head], place)
    const failure = (problem: string): HearthError =>
      new HearthError('conflict', `the change does not apply to HEAD: ${problem.slice(0, 500)}`, {
        suggestion:
          'The agent saw what is not committed, and files as a checkout converts them (line endings, filters): commit first, or use --diff FILE.',
      })
    await git(['apply', '--cached', '--binary', '--whitespace=nowarn', '-'], { ...place, input: [patch], failure })
    const tree = await text(git(['write-tree'], place))
    const input = [Buffer.from(message)]
    const made = await text(git(['commit-tree', tree, '-p', head, '-F', '-'], { ...place, input, identity: IDENTITY }))
    // Refused when somebody has made a branch of that name meanwhile.
    await git(['update-ref', `refs/heads/${name}`, made, '0'.repeat(made.length)], place)
    return made
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

/** A new branch of a repository on this machine. A run that was cut short is written there too, and says so. */
export function toLocalBranch(branch: LocalBranch): Destination {
  return {
    write: async (outcome, task) => {
      const { diff } = outcome
      if (!diff.available || diff.patch.length === 0) return null
      const { name } = branch
      const commit = await writeBranch(branch, diff.patch, messageOf(task, outcome))
      return { id: commit, people: `branch ${printable(name)}: ${commit}\n`, json: { branch: name, commit } }
    },
  }
}

/** Not looked for in the directories above: a branch is written where it was asked for. */
export async function gitDirectory(repository: string): Promise<string> {
  const path = join(repository, '.git')
  const found = await stat(path).catch(() => null)
  if (found?.isDirectory() === true) return resolve(path)
  const pointer = found?.isFile() === true ? /^gitdir: (.+)$/m.exec(await readFile(path, 'utf8')) : null
  if (pointer?.[1] !== undefined) return resolve(repository, pointer[1])
  throw new HearthError('invalid_request', `${repository} is not the top of a git repository`, {
    suggestion: 'Name one with --repo, or take the change as a patch with --diff.',
  })
}

async function text(output: Promise<Buffer>): Promise<string> {
  return (await output).toString('utf8').trim()
}
