import { git } from './git.ts'

export interface ChangedFile {
  readonly path: string
  /** Lines; null for what is not text. */
  readonly added: number | null
  readonly removed: number | null
  /** It looks like a test, or like what decides how tests are run. */
  readonly test: boolean
}

export interface Changes {
  /** For `git apply`, with binary files in it. */
  readonly patch: Uint8Array
  readonly files: readonly ChangedFile[]
}

const COMMON = ['--no-color', '--no-ext-diff', '--no-textconv', '--full-index']

export async function readChanges(directory: string, base: string, head: string): Promise<Changes> {
  // The same content is the same commit.
  if (base === head) return { patch: new Uint8Array(), files: [] }
  const [patch, numbers] = await Promise.all([
    git(['diff', ...COMMON, '--binary', '--find-renames', base, head], { directory }),
    git(['diff', ...COMMON, '--numstat', '--no-renames', '-z', base, head], { directory }),
  ])
  const files = numbers
    .toString()
    .split('\0')
    .filter((line) => line !== '')
    .map(parseLine)
  return { patch, files }
}

function parseLine(line: string): ChangedFile {
  const [added = '', removed = '', ...rest] = line.split('\t')
  const path = rest.join('\t')
  return { path, added: count(added), removed: count(removed), test: looksLikeTest(path) }
}

function count(text: string): number | null {
  return /^\d+$/.test(text) ? Number(text) : null
}

const TEST_DIRECTORY = /(^|\/)(tests?|__tests__|specs?|testdata|fixtures)\//i
const TEST_NAME =
  /(^|\/)(test_[^/]*|[^/]*[._-](test|tests|spec)\.[^/]+|conftest\.py|(jest|vitest|pytest|karma|playwright)\.[^/]*|tox\.ini|noxfile\.py)$/i

/** By the names that test runners look for. */
export function looksLikeTest(path: string): boolean {
  return TEST_DIRECTORY.test(path) || TEST_NAME.test(path)
}
