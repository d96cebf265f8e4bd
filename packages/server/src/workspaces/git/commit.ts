import { git } from '@hearth/engine/git'

export interface Person {
  readonly name: string
  readonly email: string
}

export interface NewCommit {
  readonly tree: string
  readonly parent: string
  readonly message: string
  readonly author: Person
  readonly at: Date
}

/** Who commits where nobody says who. */
export const AUTHOR: Person = { name: 'Hearth', email: 'agent@hearth.invalid' }

/** The same values give the same commit, so that what is repeated after a crash makes no second one. */
export async function writeCommit(
  directory: string,
  { tree, parent, message, author, at }: NewCommit,
): Promise<string> {
  const date = `${Math.floor(at.getTime() / 1000)} +0000`
  const identity = {
    GIT_AUTHOR_NAME: author.name,
    GIT_AUTHOR_EMAIL: author.email,
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_NAME: AUTHOR.name,
    GIT_COMMITTER_EMAIL: AUTHOR.email,
    GIT_COMMITTER_DATE: date,
  }
  const input = [Buffer.from(message.endsWith('\n') ? message : `${message}\n`)]
  const made = await git(['commit-tree', '-p', parent, tree], { directory, identity, input })
  return made.toString().trim()
}

export async function treeOf(directory: string, commit: string): Promise<string> {
  return (await git(['rev-parse', '--verify', `${commit}^{tree}`], { directory })).toString().trim()
}

/** Keeps the commit from being collected, under the name of what it was made of. */
export async function holdCommit(directory: string, owner: string, commit: string | null): Promise<void> {
  const name = `refs/hearth/workspaces/${owner}`
  await git(commit === null ? ['update-ref', '-d', name] : ['update-ref', name, commit], { directory })
}
