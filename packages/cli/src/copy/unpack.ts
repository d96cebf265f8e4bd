import { link, lstat, mkdir, symlink, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError } from '@hearth/sdk'
import { readTar, TarError, type TarEntry, type TarHeader } from '@hearth/engine/tar'
import type { CopyProgress } from './copy-progress.ts'
import { localFailure } from './local-failure.ts'
import { writeNewFile } from './write-new-file.ts'

const MOST_ENTRIES = 1_000_000
const PATH_BYTES = 4096

/**
 * Unpacks an archive that a sandbox made below a directory of this machine, which must exist.
 *
 * SAFETY: the archive is hostile. Names never lead out of the directory, not through links either: a link on the way to an entry is
 * refused, whether the archive brought it or it was there. A file is always a new one, never written through what was there. Links that point out of
 * the directory, devices and pipes are left out, owners and setuid bits are not taken over, and what is written is bounded.
 */
export async function unpackBelow(
  root: string,
  archive: AsyncIterable<Uint8Array>,
  mostBytes: number,
  progress: CopyProgress,
): Promise<void> {
  const limits = { entries: MOST_ENTRIES, totalBytes: mostBytes, pathBytes: PATH_BYTES }
  try {
    for await (const entry of readTar(archive, limits)) await unpackEntry(root, entry, progress)
  } catch (error) {
    if (!(error instanceof TarError)) throw error
    throw new HearthError('file_failed', `the archive cannot be unpacked: ${error.message}`, {
      cause: error,
      suggestion: 'What was unpacked before stays. `--max-size` allows more bytes.',
    })
  }
}

async function unpackEntry(root: string, entry: TarEntry, progress: CopyProgress): Promise<void> {
  const { header } = entry
  const parts = safeParts(header.path)
  const name = parts.at(-1)
  if (name === undefined) return
  const path = join(root, ...parts)
  try {
    const reason = whyLeftOut(header, parts)
    if (reason !== null) return progress.leaveOut(header.path, reason)
    await walkParents(root, parts, true)
    if (header.type === 'directory') await makeDirectory(path, header)
    else if (header.type === 'hardlink') await makeHardLink(root, path, header)
    else await makeLeaf(path, entry, progress)
    progress.entry(header.path)
  } catch (error) {
    throw localFailure(error, path)
  }
}

function safeParts(name: string): string[] {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (name.startsWith('/') || parts.includes('..') || name.includes('\0')) {
    throw new TarError(`${JSON.stringify(name)} leads out of the directory`)
  }
  return parts
}

function whyLeftOut(header: TarHeader, parts: readonly string[]): string | null {
  if (header.type === 'device' || header.type === 'fifo') return 'devices and pipes are not copied'
  if (header.type !== 'symlink' || !leadsOut(header.target, parts)) return null
  return `its link to ${JSON.stringify(header.target)} leads out of what is copied`
}

/**
 * SAFETY: `..` counts only at the beginning of a target, where it begins in a directory that is no link. After a name, which may be a link
 * itself, it could lead anywhere.
 */
function leadsOut(target: string, parts: readonly string[]): boolean {
  const steps = target.split('/').filter((step) => step !== '' && step !== '.')
  const down = steps.findIndex((step) => step !== '..')
  const up = down === -1 ? steps.length : down
  return target.startsWith('/') || up > parts.length - 1 || steps.slice(up).includes('..')
}

/** Each part of the way is a directory, and none is a link. What is missing is made. */
async function walkParents(root: string, parts: readonly string[], make: boolean): Promise<void> {
  for (let end = 1; end < parts.length; end++) {
    const parent = join(root, ...parts.slice(0, end))
    const status = await lstat(parent).catch(nullIfMissing)
    if (status?.isDirectory() === true) continue
    if (status !== null || !make)
      throw new TarError(`${JSON.stringify(parts.join('/'))} leads through a link or a file`)
    await mkdir(parent)
  }
}

/** SAFETY: a second name for a file that lies in the directory, never for one elsewhere. */
async function makeHardLink(root: string, path: string, header: TarHeader): Promise<void> {
  const parts = safeParts(header.target)
  await walkParents(root, parts, false)
  const target = join(root, ...parts)
  if (target === path) return
  const status = await lstat(target).catch(nullIfMissing)
  if (status?.isFile() !== true) throw new TarError(`the other name of ${JSON.stringify(header.path)} is not a file`)
  await makeWay(path, header)
  await link(target, path)
}

async function makeDirectory(path: string, header: TarHeader): Promise<void> {
  const status = await lstat(path).catch(nullIfMissing)
  // Its owner must be able to fill it.
  if (status === null) await mkdir(path, { mode: (header.mode & 0o777) | 0o700 })
  else if (!status.isDirectory())
    throw new TarError(`${JSON.stringify(header.path)} is something else than a directory here`)
}

/** What is there is replaced, never written through. */
async function makeWay(path: string, header: TarHeader): Promise<void> {
  const status = await lstat(path).catch(nullIfMissing)
  if (status?.isDirectory() === true) throw new TarError(`${JSON.stringify(header.path)} is a directory here`)
  if (status !== null) await unlink(path)
}

async function makeLeaf(path: string, entry: TarEntry, progress: CopyProgress): Promise<void> {
  const { header } = entry
  await makeWay(path, header)
  if (header.type === 'symlink') return await symlink(header.target, path)
  await writeNewFile(path, entry.body(), { mode: header.mode, modifiedMs: header.modifiedMs }, progress)
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}
