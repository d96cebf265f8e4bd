import { constants } from 'node:fs'
import { lstat, open, readdir, readlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { TAR_END, tarHeader, tarPadding, type TarHeader } from '@hearth/engine/tar'
import { HearthError } from '@hearth/sdk'
import { onLocal } from './local-failure.ts'
import type { CopyProgress } from './copy-progress.ts'

/** What a directory of this machine holds, as an archive with names relative to it. Links are kept as links. */
export async function* packDirectory(root: string, progress: CopyProgress): AsyncGenerator<Uint8Array, void> {
  yield* packBelow(root, '', progress)
  yield TAR_END
}

async function* packBelow(root: string, folder: string, progress: CopyProgress): AsyncGenerator<Uint8Array, void> {
  const read = async (): Promise<string[]> => await onLocal(join(root, folder), () => readdir(join(root, folder)))
  const names = folder === '' ? await read() : ((await unlessGone(read)) ?? [])
  for (const name of names.toSorted()) {
    const path = folder === '' ? name : `${folder}/${name}`
    const file = join(root, path)
    const header = await unlessGone(async () => await headerOf(file, path))
    await using content = header?.type === 'file' ? await unlessGone(async () => await openFile(file)) : undefined
    if (header === undefined || (header?.type === 'file' && content === undefined)) {
      progress.leaveOut(path, GONE)
      continue
    }
    if (header === null) {
      progress.leaveOut(path, 'it is neither a file, a directory nor a link')
      continue
    }
    yield tarHeader(header)
    progress.entry(path)
    if (content !== undefined) yield* packContent(content, file, header.size, progress)
    if (header.type === 'directory') yield* packBelow(root, path, progress)
  }
}

/** Of a name that is not UTF-8 nothing is found under what Node makes of it. */
const GONE = 'it is gone, or its name is not UTF-8'

/** Whoever works in a directory makes and removes files while it is copied. */
async function unlessGone<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work()
  } catch (error) {
    if (HearthError.isInstance(error) && error.code === 'file_not_found') return undefined
    throw error
  }
}

/** Not through a link that has taken its place meanwhile. */
async function openFile(file: string): Promise<FileHandle> {
  return await onLocal(file, async () => await open(file, constants.O_RDONLY | constants.O_NOFOLLOW))
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
async function* packContent(
  content: FileHandle,
  file: string,
  size: number,
  progress: CopyProgress,
): AsyncGenerator<Uint8Array, void> {
  let left = size
  if (size > 0) {
    try {
      for await (const chunk of content.createReadStream({
        end: size - 1,
        highWaterMark: 256 * 1024,
        autoClose: false,
      })) {
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
