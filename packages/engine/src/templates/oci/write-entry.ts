import { closeSync, constants, fchmodSync, fchownSync, futimesSync, openSync, writeSync } from 'node:fs'
import type { TarEntry } from '../tar/tar-reader.ts'

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants

/** Writes a new file. It must not exist: a link that was left there would be refused, not followed. */
export async function writeEntry(path: string, entry: TarEntry, keepOwner: boolean): Promise<void> {
  const { header } = entry
  const descriptor = openSync(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600)
  try {
    // Synchronous: thousands of small files would spend most of their time waiting for the thread pool.
    for await (const chunk of entry.body()) writeAll(descriptor, chunk)
    if (keepOwner) fchownSync(descriptor, header.uid, header.gid)
    const mode = header.mode & 0o1777
    fchmodSync(descriptor, keepOwner ? mode : mode | 0o400)
    futimesSync(descriptor, seconds(header.modifiedMs), seconds(header.modifiedMs))
  } finally {
    closeSync(descriptor)
  }
}

function writeAll(descriptor: number, chunk: Uint8Array): void {
  for (let written = 0; written < chunk.length;) written += writeSync(descriptor, chunk, written)
}

/** A time that every file system can store. */
export function seconds(milliseconds: number): number {
  return Math.min(Math.max(milliseconds / 1000, 0), 2 ** 33)
}
