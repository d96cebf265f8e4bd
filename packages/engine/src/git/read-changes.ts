import { git, type GitOptions } from './git-process.ts'

export interface ChangedLines {
  readonly path: string
  /** Lines; null for what is not text. */
  readonly added: number | null
  readonly removed: number | null
}

export interface TreeChanges {
  /** For `git apply`, with binary files in it. */
  readonly patch: Uint8Array
  readonly files: readonly ChangedLines[]
}

/** What attributes of the trees say about drivers and conversions does not count. */
const COMMON = ['--no-color', '--no-ext-diff', '--no-textconv', '--full-index', '--ignore-submodules=none']

/** What differs between two commits or trees of one repository. */
export async function readChanges(
  directory: string,
  base: string,
  head: string,
  options: Pick<GitOptions, 'mostBytes' | 'signal'> = {},
): Promise<TreeChanges> {
  // The same content is the same commit.
  if (base === head) return { patch: new Uint8Array(), files: [] }
  const call = { ...options, directory }
  const [patch, files] = await Promise.all([
    git(['diff', ...COMMON, '--binary', '--find-renames', base, head], call),
    changedLines(directory, base, head, options),
  ])
  return { patch, files }
}

/** Only which files, and how much of them. */
export async function changedLines(
  directory: string,
  base: string,
  head: string,
  options: Pick<GitOptions, 'mostBytes' | 'signal'> = {},
): Promise<ChangedLines[]> {
  const numbers = await git(['diff', ...COMMON, '--numstat', '--no-renames', '-z', base, head], {
    ...options,
    directory,
  })
  return numbers
    .toString()
    .split('\0')
    .filter((line) => line !== '')
    .map(parseLine)
}

function parseLine(line: string): ChangedLines {
  const [added = '', removed = '', ...rest] = line.split('\t')
  return { path: rest.join('\t'), added: count(added), removed: count(removed) }
}

function count(text: string): number | null {
  return /^\d+$/.test(text) ? Number(text) : null
}
