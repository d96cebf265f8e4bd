import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { CopyProgress } from './copy-progress.ts'

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
/** Times that every file system can store. */
const LATEST_SECONDS = 2 ** 33

/** SAFETY: the file must not exist, so that nothing is written through a link; setuid and setgid bits are dropped. */
export async function writeNewFile(
  path: string,
  content: AsyncIterable<Uint8Array>,
  attributes: { readonly mode: number; readonly modifiedMs: number },
  progress: CopyProgress,
): Promise<void> {
  await using file = await open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600)
  for await (const chunk of content) {
    for (let written = 0; written < chunk.length;) written += (await file.write(chunk, written)).bytesWritten
    progress.bytes(chunk.length)
  }
  await file.chmod(attributes.mode & 0o777)
  const seconds = Math.min(Math.max(attributes.modifiedMs / 1000, 0), LATEST_SECONDS)
  await file.utimes(seconds, seconds)
}
