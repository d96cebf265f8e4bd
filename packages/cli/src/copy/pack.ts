import { createReadStream } from 'node:fs'
import { lstat, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { TAR_END, tarHeader, tarPadding, type TarHeader } from '@hearth/engine/tar'
import { onLocal } from './local-failure.ts'
import type { CopyProgress } from './copy-progress.ts'

/** What a directory of this machine holds, as an archive with names relative to it. Links are kept as links. */
export async function* packDirectory(root: string, progress: CopyProgress): AsyncGenerator<Uint8Array, void> {
  yield* packBelow(root, '', progress)
  yield TAR_END
}

async function* packBelow(root: string, folder: string, progress: CopyProgress): AsyncGenerator<Uint8Array, void> {
  const names = await onLocal(join(root, folder), async () => await readdir(join(root, folder)))
  for (const name of names.toSorted()) {
    const path = folder === '' ? name : `${folder}/${name}`
    const header = await headerOf(join(root, path), path)
    if (header === null) {
      progress.leaveOut(path, 'it is neither a file, a directory nor a link')
      continue
    }
    yield tarHeader(header)
    progress.entry(path)
    if (header.type === 'file') yield* packContent(join(root, path), header.size, progress)
    if (header.type === 'directory') yield* packBelow(root, path, progress)
  }
}

/** Null for sockets, pipes and devices, which mean nothing elsewhere. Owners are for the sandbox to say. */
async function headerOf(file: string, path: string): Promise<TarHeader | null> {
  return await onLocal(file, async () => {
    const status = await lstat(file)
    const common = { mode: status.mode & 0o777, uid: 0, gid: 0, modifiedMs: status.mtimeMs, size: 0, target: '' }
    if (status.isDirectory()) return { ...common, type: 'directory', path: `${path}/` }
    if (status.isSymbolicLink()) return { ...common, type: 'symlink', path, target: await readlink(file) }
    return status.isFile() ? { ...common, type: 'file', path, size: status.size } : null
  })
}

/** The header has promised a size: a file that became shorter is filled up, one that grew is cut. */
async function* packContent(file: string, size: number, progress: CopyProgress): AsyncGenerator<Uint8Array, void> {
  let left = size
  if (size > 0) {
    try {
      for await (const chunk of createReadStream(file, { end: size - 1, highWaterMark: 256 * 1024 })) {
        left -= (chunk as Buffer).length
        progress.bytes((chunk as Buffer).length)
        yield chunk as Buffer
      }
    } catch (error) {
      await onLocal(file, () => Promise.reject(error as Error))
    }
  }
  for (; left > 0; left -= Math.min(left, FILLER.length)) yield FILLER.subarray(0, Math.min(left, FILLER.length))
  const padding = tarPadding(size)
  if (padding.length > 0) yield padding
}

const FILLER = Buffer.alloc(64 * 1024)
