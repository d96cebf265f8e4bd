import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { HearthError, type Sandbox } from '@hearth/contract'
import { git } from '@hearth/engine/git'
import { changesBetween, type Changes } from '../changes/changes.ts'
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

export type WrittenFile = { readonly path: string } & (
  | { readonly removed: true }
  | { readonly link: string }
  | { readonly content: Uint8Array; readonly mode: number }
)

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

interface ChangedEntry {
  readonly mode: string
  readonly before: string
  readonly blob: string
  readonly removed: boolean
  readonly path: string
}

async function readEntries(
  directory: string,
  base: string,
  tree: string,
  guard: Guard,
): Promise<Pick<PatchedTree, 'written' | 'held'>> {
  const raw = await git(['diff-tree', '-r', '--no-renames', '-z', base, tree], { directory })
  const entries = parseRaw(raw.toString())
  const isHeld = (path: string): boolean => guard?.(path) === true
  const held = entries.filter(({ path }) => isHeld(path)).map(({ path }) => path)
  const written: WrittenFile[] = []
  for (const entry of entries.filter(({ path }) => !isHeld(path))) {
    const file = await readEntry(directory, entry, guard !== null)
    written.push(file.written)
    if (file.isHeld) held.push(entry.path)
  }
  return { written, held }
}

async function readEntry(
  directory: string,
  { mode, before, blob, removed, path }: ChangedEntry,
  isJudged: boolean,
): Promise<{ written: WrittenFile; isHeld: boolean }> {
  if (removed) return { written: { path, removed: true }, isHeld: false }
  const contentOf = async (id: string): Promise<Buffer> =>
    await git(['cat-file', 'blob', id], { directory, mostBytes: PATCH_BYTES })
  const content = await contentOf(blob)
  if (mode === '120000') return { written: { path, link: content.toString() }, isHeld: false }
  const bits = mode === '100755' ? 0o755 : 0o644
  if (!isJudged || !isPackageFile(path)) return { written: { path, content, mode: bits }, isHeld: false }
  // The scripts of a package are how its tests are run: those of the base count, with everything else as it was changed.
  const scripts = scriptsOf(/^0+$/.test(before) ? '{}' : (await contentOf(before)).toString())
  const judged = withScripts(content.toString(), scripts)
  if (judged === null) return { written: { path, content, mode: bits }, isHeld: false }
  return { written: { path, content: Buffer.from(judged), mode: bits }, isHeld: true }
}

/** Brings a clean working directory to what is judged. */
export async function writeTree(change: PatchedTree, sandbox: Sandbox, workdir: string): Promise<void> {
  // What goes makes room for what comes: a file may become a directory.
  const ordered = change.written.toSorted((left, right) => Number('removed' in right) - Number('removed' in left))
  for (const file of ordered) {
    // The path is resolved in the sandbox alone; git has refused those that lead out of a tree.
    const place = posix.join(workdir, file.path)
    if ('content' in file) await sandbox.files.write(place, file.content, { mode: file.mode })
    else await sandbox.files.remove(place, { force: true })
    if ('link' in file) await sandbox.files.symlink(file.link, place)
  }
}

function parseRaw(text: string): ChangedEntry[] {
  const fields = text.split('\0')
  const entries: ChangedEntry[] = []
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [, mode = '', before = '', blob = '', status = ''] = (fields[index] ?? '').split(' ')
    entries.push({ mode, before, blob, removed: status === 'D', path: fields[index + 1] ?? '' })
  }
  return entries
}
