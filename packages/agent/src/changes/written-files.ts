import { posix } from 'node:path'
import type { Sandbox } from '@hearth/contract'
import { git } from '@hearth/engine/git'

const FILE_BYTES = 64 * 1024 * 1024
const LINK = '120000'

export type WrittenFile = { readonly path: string } & (
  | { readonly removed: true }
  | { readonly link: string }
  | { readonly content: Uint8Array; readonly mode: number; readonly replacesLink: boolean }
)

/** One file in which two trees differ, and the blobs that it was and is. */
export interface ChangedEntry {
  readonly mode: string
  /** It was a link, which a write to its path would go through. */
  readonly wasLink: boolean
  readonly before: string
  readonly blob: string
  readonly removed: boolean
  readonly path: string
}

export async function changedEntries(directory: string, base: string, tree: string): Promise<ChangedEntry[]> {
  return parseRaw((await git(['diff-tree', '-r', '--no-renames', '-z', base, tree], { directory })).toString())
}

export async function blobContent(directory: string, blob: string): Promise<Buffer> {
  return await git(['cat-file', 'blob', blob], { directory, mostBytes: FILE_BYTES })
}

/** What is to be written so that the file is as in the second tree. */
export async function writtenFile(
  directory: string,
  { mode, wasLink, blob, removed, path }: ChangedEntry,
): Promise<WrittenFile> {
  if (removed) return { path, removed: true }
  const content = await blobContent(directory, blob)
  if (mode === LINK) return { path, link: content.toString() }
  return { path, content, mode: mode === '100755' ? 0o755 : 0o644, replacesLink: wasLink }
}

/** Brings a working directory that is as the first tree to the second one. */
export async function writeFiles(files: readonly WrittenFile[], sandbox: Sandbox, workdir: string): Promise<void> {
  // What goes makes room for what comes: a file may become a directory.
  const ordered = files.toSorted((left, right) => Number('removed' in right) - Number('removed' in left))
  for (const file of ordered) {
    // The path is resolved in the sandbox alone; git has refused those that lead out of a tree.
    const place = posix.join(workdir, file.path)
    // SAFETY: through the link that a file takes the place of, any other file could be written.
    if (!('content' in file) || file.replacesLink) await sandbox.files.remove(place, { force: true })
    if ('content' in file) await sandbox.files.write(place, file.content, { mode: file.mode })
    if ('link' in file) await sandbox.files.symlink(file.link, place)
  }
}

function parseRaw(text: string): ChangedEntry[] {
  const fields = text.split('\0')
  const entries: ChangedEntry[] = []
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [modeBefore = '', mode = '', before = '', blob = '', status = ''] = (fields[index] ?? '').split(' ')
    const wasLink = modeBefore === `:${LINK}`
    entries.push({ mode, wasLink, before, blob, removed: status === 'D', path: fields[index + 1] ?? '' })
  }
  return entries
}
