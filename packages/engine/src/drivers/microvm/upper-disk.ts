import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findProgram } from '../staging/programs.ts'
import { makeOnce } from '../staging/write-once.ts'
import { MissingPart } from './missing-part.ts'
import { runTool } from './run-tool.ts'

const BLOCK_BYTES = 4096
/** The name of a machine's writable disk in its area. */
export const UPPER_DISK = 'disk.ext4'

/**
 * An empty ext4 disk of exactly this size: the limit of what the machine can write. It is formatted once per size and then copied
 * without its holes, which takes a few milliseconds and a few hundred kilobytes whatever the size is. It has no journal, since it
 * is never used after a crash of its machine's kernel.
 */
export async function makeUpperDisk(cache: string, path: string, sizeBytes: number): Promise<void> {
  await copyDisk(await emptyDisk(cache, sizeBytes), path)
}

/** Shares the blocks where the file system can, and leaves out the holes. */
export async function copyDisk(from: string, to: string): Promise<void> {
  const copy = await findProgram('cp')
  if (copy === null) throw new MissingPart('cp is not installed', 'apt-get install coreutils')
  await runTool(copy, ['--reflink=auto', '--sparse=always', from, to])
}

/** The one of its size in the cache, made at first use. */
export async function emptyDisk(cache: string, sizeBytes: number): Promise<string> {
  const size = Math.floor(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES
  const path = join(cache, 'microvm-disks', `empty-${size}.ext4`)
  const format = await findProgram('mkfs.ext4')
  if (format === null) throw new MissingPart('mkfs.ext4 is not installed', 'apt-get install e2fsprogs')
  return await makeOnce(path, async (draft) => {
    await writeFile(draft, '', { mode: 0o600 })
    await truncate(draft, size)
    // uninit_bg: tables of inodes that were never used are not cleared here, and by the kernel neither (guest/src/machine/mounts.c).
    const features = '^has_journal,^resize_inode,^metadata_csum,uninit_bg'
    await runTool(format, ['-q', '-F', '-b', String(BLOCK_BYTES), '-m', '0', '-i', '16384', '-O', features, draft])
  })
}
