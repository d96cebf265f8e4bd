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
import { configuresRunner, judgedConfiguration } from './runner-configuration.ts'

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
  const written: WrittenFile[] = []
  const held: string[] = []
  for (const entry of await changedEntries(directory, base, tree)) {
    const isHeld = guard?.(entry.path) === true
    const judged = isHeld ? null : await judgedFile(directory, entry, guard !== null)
    if (judged === null || judged.isHeld) held.push(entry.path)
    if (judged !== null && judged.written !== null) written.push(judged.written)
  }
  return { written, held }
}

async function judgedFile(
  directory: string,
  entry: ChangedEntry,
  isJudged: boolean,
): Promise<{ written: WrittenFile | null; isHeld: boolean }> {
  const file = await writtenFile(directory, entry)
  if (!isJudged || !configuresRunner(entry.path)) return { written: file, isHeld: false }
  // SAFETY: where a link leads anything may lie.
  if ('link' in file || entry.wasLink) return { written: null, isHeld: true }
  const before = /^0+$/.test(entry.before) ? null : (await blobContent(directory, entry.before)).toString()
  const after = 'removed' in file ? null : Buffer.from(file.content).toString()
  const { content, isHeld } = judgedConfiguration(entry.path, before, after)
  if ('removed' in file) return { written: isHeld ? null : file, isHeld }
  return { written: content === null ? null : { ...file, content: Buffer.from(content) }, isHeld }
}
