import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import { git } from '@hearth/engine/git'
import { changesBetween, type Changes } from '../changes/changes.ts'
import {
  blobContent,
  changedEntries,
  writtenFile,
  type ChangedEntry,
  type WrittenFile,
} from '../changes/written-files.ts'
import { isPackageFile, scriptsOf, withScripts } from './package-scripts.ts'

const PATCH_BYTES = 64 * 1024 * 1024

export interface PatchedTree extends Changes {
  /** The same for the same change, however it was written down. */
  readonly tree: string
  /** What is written for judging: all but what the base decides. */
  readonly written: readonly WrittenFile[]
  /** Files that are judged as they are on the base, in whole or in the part that runs the tests. */
  readonly held: readonly string[]
}

/** What the base decides, whatever a change says. Null for a change that is not judged but taken: all of it is written. */
export type Guard = ((path: string) => boolean) | null

/** Applies a patch to the base on the host, in a git index: no file of a sandbox is touched, and none of its tools is needed. */
export async function patchedTree(
  directory: string,
  base: string,
  patch: Uint8Array,
  guard: Guard,
): Promise<PatchedTree> {
  if (patch.length > PATCH_BYTES)
    throw new HearthError('body_too_large', `the patch has more than ${PATCH_BYTES} bytes`)
  const place = await mkdtemp(join(tmpdir(), 'hearth-index-'))
  try {
    const options = { directory, indexFile: join(place, 'index') }
    await git(['read-tree', base], options)
    if (patch.length > 0) await git(['apply', '--cached', '--whitespace=nowarn', '-'], { ...options, input: [patch] })
    const tree = (await git(['write-tree'], options)).toString().trim()
    const changes = await changesBetween(directory, base, tree)
    return { tree, ...changes, ...(await readEntries(directory, base, tree, guard)) }
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

async function readEntries(
  directory: string,
  base: string,
  tree: string,
  guard: Guard,
): Promise<Pick<PatchedTree, 'written' | 'held'>> {
  const entries = await changedEntries(directory, base, tree)
  const isHeld = (path: string): boolean => guard?.(path) === true
  const held = entries.filter(({ path }) => isHeld(path)).map(({ path }) => path)
  const written: WrittenFile[] = []
  for (const entry of entries.filter(({ path }) => !isHeld(path))) {
    const file = await judgedFile(directory, entry, guard !== null)
    written.push(file.written)
    if (file.isHeld) held.push(entry.path)
  }
  return { written, held }
}

async function judgedFile(
  directory: string,
  entry: ChangedEntry,
  isJudged: boolean,
): Promise<{ written: WrittenFile; isHeld: boolean }> {
  const written = await writtenFile(directory, entry)
  if (!isJudged || !('content' in written) || !isPackageFile(entry.path)) return { written, isHeld: false }
  // The scripts of a package are how its tests are run: those of the base count, with everything else as it was changed.
  const before = /^0+$/.test(entry.before) ? '{}' : (await blobContent(directory, entry.before)).toString()
  const judged = withScripts(Buffer.from(written.content).toString(), scriptsOf(before))
  if (judged === null) return { written, isHeld: false }
  return { written: { ...written, content: Buffer.from(judged) }, isHeld: true }
}
