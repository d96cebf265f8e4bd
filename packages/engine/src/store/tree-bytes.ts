import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Bytes on disk of all files below a directory. What cannot be read, or vanishes meanwhile, counts nothing. */
export async function treeBytes(directory: string): Promise<number> {
  let bytes = 0
  const entries = await readdir(directory, { withFileTypes: true, recursive: true }).catch(() => [])
  for (const entry of entries) {
    if (!entry.isFile()) continue
    bytes += await lstat(join(entry.parentPath, entry.name)).then(
      ({ blocks }) => blocks * 512,
      () => 0,
    )
  }
  return bytes
}
