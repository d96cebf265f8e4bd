import type { ChangedFile } from '@hearth/contract'
import { readChanges } from '@hearth/engine/git'

export interface Changes {
  /** For `git apply`, with binary files in it. */
  readonly patch: Uint8Array
  readonly files: readonly ChangedFile[]
}

export async function changesBetween(directory: string, base: string, head: string): Promise<Changes> {
  const { patch, files } = await readChanges(directory, base, head)
  return { patch, files: files.map((file) => ({ ...file, test: looksLikeTest(file.path) })) }
}

const TEST_DIRECTORY = /(^|\/)(tests?|__tests__|specs?|testdata|fixtures|unittest|_?pytest)\//i
const TEST_NAME =
  /(^|\/)(test_[^/]*|[^/]*[._-](test|tests|spec)\.[^/]+|conftest\.py|\.?(jest|vitest|pytest|karma|playwright|ava|cypress|phpunit)\.[^/]*|tox\.ini|noxfile\.py|(site|user)customize\.py|unittest\.(py|cfg)|\.(mocharc|nycrc|taprc)[^/]*|\.rspec|\.npmrc|\.yarnrc(\.yml)?|\.pnpmfile\.c?js|bunfig\.toml|\.cargo\/config(\.toml)?)$/i

/** By the names that test runners look for, and by those that would take a runner's place. */
export function looksLikeTest(path: string): boolean {
  return TEST_DIRECTORY.test(path) || TEST_NAME.test(path)
}
