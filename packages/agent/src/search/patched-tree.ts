import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { HearthError, type Sandbox } from '@hearth/contract'
import { git } from '@hearth/engine/git'
import { changesBetween, looksLikeTest, type Changes } from '../changes/changes.ts'

const PATCH_BYTES = 64 * 1024 * 1024

export interface PatchedTree extends Changes {
  /** The same for the same change, however it was written down. */
  readonly tree: string
}

/** Applies a patch to the base on the host, in a git index: no file of a sandbox is touched, and none of its tools is needed. */
export async function patchedTree(directory: string, base: string, patch: Uint8Array): Promise<PatchedTree> {
  if (patch.length > PATCH_BYTES)
    throw new HearthError('body_too_large', `the patch has more than ${PATCH_BYTES} bytes`)
  const place = await mkdtemp(join(tmpdir(), 'hearth-index-'))
  try {
    const options = { directory, indexFile: join(place, 'index') }
    await git(['read-tree', base], options)
    if (patch.length > 0) await git(['apply', '--cached', '--whitespace=nowarn', '-'], { ...options, input: [patch] })
    const tree = (await git(['write-tree'], options)).toString().trim()
    return { tree, ...(await changesBetween(directory, base, tree)) }
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

interface ChangedEntry {
  readonly mode: string
  readonly blob: string
  readonly removed: boolean
  readonly path: string
}

/** Brings a clean working directory to a tree, except for its tests: what is judged is judged by the tests of the base. */
export async function writeTree(
  directory: string,
  base: string,
  tree: string,
  target: { readonly sandbox: Sandbox; readonly workdir: string },
): Promise<void> {
  const raw = await git(['diff-tree', '-r', '--no-renames', '-z', base, tree], { directory })
  const entries = parseRaw(raw.toString()).filter(({ path }) => !looksLikeTest(path))
  // What goes makes room for what comes: a file may become a directory.
  for (const entry of entries.toSorted((left, right) => Number(right.removed) - Number(left.removed))) {
    await writeEntry(directory, entry, target)
  }
}

function parseRaw(text: string): ChangedEntry[] {
  const fields = text.split('\0')
  const entries: ChangedEntry[] = []
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [, mode = '', , blob = '', status = ''] = (fields[index] ?? '').split(' ')
    entries.push({ mode, blob, removed: status === 'D', path: fields[index + 1] ?? '' })
  }
  return entries
}

async function writeEntry(
  directory: string,
  { mode, blob, removed, path }: ChangedEntry,
  { sandbox, workdir }: { readonly sandbox: Sandbox; readonly workdir: string },
): Promise<void> {
  // The path is resolved in the sandbox alone; git has refused those that lead out of a tree.
  const place = posix.join(workdir, path)
  if (removed || mode === '120000') await sandbox.files.remove(place, { force: true })
  if (removed) return
  const content = await git(['cat-file', 'blob', blob], { directory, mostBytes: PATCH_BYTES })
  if (mode === '120000') return await sandbox.files.symlink(content.toString(), place)
  await sandbox.files.write(place, content, { mode: mode === '100755' ? 0o755 : 0o644 })
}
