import { HearthError } from '@hearth/contract'
import type { StillCopy, VolumeChange } from '@hearth/engine'
import { git } from '@hearth/engine/git'
import { readStillFile } from './still-files.ts'
import type { Skipped } from './still-tree.ts'

/** Files in which a repository says which commits it keeps: its branches, tags and stashes, and where it stands itself. */
const REFERENCES = /^\.git\/(HEAD|packed-refs|refs\/.+|worktrees\/[^/]+\/HEAD)$/
/** Another form of the same, which is not read. */
const TABLES = /^\.git\/reftable\//
const COMMIT = /(?:^|[\s^])([0-9a-f]{40}|[0-9a-f]{64})(?=\s|$)/g
const FILE_BYTES = 1024 * 1024

const UNREADABLE = 'which commits it names cannot be read'
const UNKNOWN = 'it names commits that are nowhere else; a patch has no more than the files'

/**
 * What a guest has committed or stashed, and nobody has outside of its workspace. SAFETY: git is asked about identifiers alone; the repository of
 * the guest is read as bytes.
 */
export async function guestCommits(
  directory: string,
  still: StillCopy,
  changes: readonly VolumeChange[],
): Promise<Skipped[]> {
  const found: Skipped[] = []
  const named = new Map<string, string[]>()
  for (const { name, type, change } of changes) {
    const path = Buffer.from(name).toString('latin1')
    if (change === 'removed' || type === 'directory') continue
    if (path === '.git' || TABLES.test(path)) found.push({ path, reason: UNREADABLE })
    if (!REFERENCES.test(path)) continue
    const content = type === 'file' ? await readStillFile(still, path, FILE_BYTES).catch(unreadable) : null
    if (content === null) found.push({ path, reason: UNREADABLE })
    else
      named.set(
        path,
        Array.from(content.toString('latin1').matchAll(COMMIT), ([, id = '']) => id),
      )
  }
  const known = await knownOf(directory, new Set([...named.values()].flat()))
  for (const [path, commits] of named) {
    if (commits.some((commit) => !known.has(commit))) found.push({ path, reason: UNKNOWN })
  }
  return found
}

async function knownOf(directory: string, commits: ReadonlySet<string>): Promise<Set<string>> {
  if (commits.size === 0) return new Set()
  const input = [Buffer.from(Array.from(commits, (commit) => `${commit}\n`).join(''))]
  const answers = await git(['cat-file', '--batch-check=%(objectname)'], { directory, input })
  const lines = answers.toString().split('\n')
  return new Set(lines.filter((line) => commits.has(line)))
}

/** A name that is no text, or a path that leads through a link: a guest made it so. */
function unreadable(error: unknown): null {
  if (HearthError.isInstance(error) || (error as NodeJS.ErrnoException).code !== undefined) return null
  throw error
}
