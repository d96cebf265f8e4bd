import { constants } from 'node:fs'
import { open, realpath, type FileHandle } from 'node:fs/promises'
import { HearthError } from '@hearth/contract'
import type { StillCopy } from '@hearth/engine'

/** SAFETY: nothing changes in a still copy, so that a path without links in it leads nowhere else when it is opened. */
export async function openStill(still: StillCopy, name: Uint8Array): Promise<FileHandle> {
  const path = Buffer.concat([Buffer.from(`${still.path}/`), name])
  const parent = path.subarray(0, path.lastIndexOf(0x2f))
  const [real, top] = await Promise.all([realpath(parent, 'buffer'), realpath(still.path)])
  const below = parent.subarray(still.path.length)
  if (!Buffer.concat([Buffer.from(top), below]).equals(real))
    throw new HearthError('internal', 'a path of a still copy leads through a link')
  return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
}

/** Null for one that is larger. */
export async function readStillFile(still: StillCopy, name: string, mostBytes: number): Promise<Buffer | null> {
  await using file = await openStill(still, Buffer.from(name))
  const { size } = await file.stat()
  return size > mostBytes ? null : await file.readFile()
}
